// Creates a container and prints a shared access signature of the account that lasts a day:
// node prepare.mjs ENDPOINT ACCOUNT CONTAINER, with the key in AZURE_KEY.
import { createHmac } from 'node:crypto';

const VERSION = '2023-11-03';
const [endpoint, account, container] = process.argv.slice(2);
const sign = (text) =>
  createHmac('sha256', Buffer.from(process.env.AZURE_KEY, 'base64')).update(text).digest('base64');

const headers = { 'x-ms-date': new Date().toUTCString(), 'x-ms-version': VERSION };
const canonical = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`).join('');
// The account stands twice in the resource of an emulator, whose URLs hold it in their path.
const resource = `/${account}/${account}/${container}\nrestype:container`;
const answer = await fetch(`${endpoint}/${container}?restype=container`, {
  method: 'PUT',
  headers: { ...headers, authorization: `SharedKey ${account}:${sign(`PUT${'\n'.repeat(12)}${canonical}${resource}`)}` },
});
if (answer.status !== 201) {
  console.error(`container ${container} was not created: HTTP ${answer.status} ${await answer.text()}`);
  process.exit(1);
}

const end = `${new Date(Date.now() + 86_400_000).toISOString().slice(0, 19)}Z`;
// Permissions, services, resource types, start, end, addresses, protocols, version, encryption scope.
const fields = ['rwdlc', 'b', 'sco', '', end, '', 'https,http', VERSION, ''];
const signature = sign([account, ...fields, ''].join('\n'));
const token = { sp: fields[0], ss: fields[1], srt: fields[2], se: end, spr: fields[6], sv: VERSION, sig: signature };
console.log(new URLSearchParams(token).toString());
