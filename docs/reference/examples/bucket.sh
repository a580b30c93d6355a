# Notes in a bucket. Address, region and keys come from AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.

# The objects below a prefix, to a local folder with the same tree.
lethe redact "$LETTERS"/ --out clean/
lethe redact "$LETTERS"/first.txt

test "$(cat clean/2026/second.txt)" = 'Dr. [DOCTOR] called [PHONE].'
