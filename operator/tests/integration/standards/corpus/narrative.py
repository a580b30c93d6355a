"""Generated narrative (`Narrative.status` generated) in the styles of servers, with its identifying pieces.

Each style renders rows of a label and values. A piece of a value is a pair of its text and whether it identifies somebody:
names, ids, dates, addresses, telephone numbers. Everything else is a heading, a code's display, a unit, a number, or a sentence.
"""

import html
import re

import invent

DATE = re.compile(r"^\d{4}-\d{2}-\d{2}")


def words(name):
    """Returns an element's name as a heading: birthDate is "Birth Date"."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z0-9])", " ", name)
    return spaced[:1].upper() + spaced[1:]


def pieces(name, value, kind):
    """Renders a value as pieces of text, each with whether it identifies."""
    if isinstance(value, bool):
        return [(str(value).lower(), False)]
    if isinstance(value, (int, float)):
        return [(str(value), False)]
    if isinstance(value, str) and value.startswith(("http:", "urn:")):
        return []
    if isinstance(value, str):
        if name == "authorString":
            return named(value)
        return [(value[:10], True)] if DATE.match(value) else [(value, looks_named(value))]
    if isinstance(value, list):
        out = []
        for one in value:
            some = pieces(name, one, kind)
            out += ([(", ", None)] if out and some else []) + some
        return out
    keys = set(value)
    if keys <= {"coding", "text"} and isinstance(value.get("text", ""), str) and isinstance(value.get("coding", []), list):
        coding = (value.get("coding") or [{}])[0]
        out = [(value.get("text") or coding.get("display") or coding.get("code") or "", False)]
        if coding.get("display") and value.get("text"):
            out += [(" (", None), (coding["display"], False), (")", None)]
        return out
    if keys == {"system", "code", "display"}:
        return [(value["display"], False)]
    if keys <= {"reference", "display"} and isinstance(value.get("reference"), str):
        kind_of, _, identity = value["reference"].partition("/")
        if "display" in value:
            return named(value["display"])
        return [(kind_of + "/", None), (identity, True)]
    if "family" in value and "given" in value:
        return [(" ".join(value.get("given", []) + [value["family"]]), True)]
    if "line" in value and "postalCode" in value:
        return [(", ".join(value["line"]), True), (" ", None), (value["city"], True), (" ", None), (value["state"], None), (" ", None),
                (value["postalCode"], True)]
    if "system" in value and isinstance(value.get("value"), str):
        label = [("ph: " if value["system"] == "phone" else value["system"] + ": ", None)] if value["system"] in (
            "phone", "email", "fax") else []
        return label + [(str(value["value"]), True)]
    if keys == {"value", "unit", "system", "code"}:
        return [(str(value["value"]), False), (" ", None), (value["unit"], False)]
    if keys == {"value", "currency"}:
        return [(str(value["value"]), False), (" ", None), (value["currency"], False)]
    if keys == {"start", "end"} and isinstance(value["start"], str):
        return [(value["start"], True), (" - ", None), (value["end"], True)]
    if keys == {"text", "authorString", "time"}:
        return [(value["text"], False), (" (by ", None), *named(value["authorString"]), (" ", None), (value["time"][:10], True), (")", None)]
    out = []
    for inner, one in value.items():
        if inner in ("data", "url", "uri", "system") or isinstance(one, str) and one.startswith(("http:", "urn:")):
            continue
        some = pieces(inner, one, kind)
        if some:
            out += ([("; ", None)] if out else []) + [(words(inner), False), (": ", None)] + some
    return out


def named(value):
    """Renders a name; its title does not identify."""
    title, _, rest = value.partition(" ")
    return [(title + " ", None), (rest, True)] if title in ("Dr.", "Ms.") else [(value, True)]


def looks_named(value):
    """Returns whether the generator writes a person's name into a string element."""
    first = value.split(" ")[0]
    return first in invent.GIVEN and value.split(" ")[-1] in invent.FAMILY or value.startswith(("r", "N")) and value[1:].isdigit() or (
        len(value) == 36 and value.count("-") == 4)


def rows(resource):
    """Returns the shown parts of a resource: headings and values."""
    shown = []
    for name, value in resource.items():
        if name in ("resourceType", "meta", "text", "language", "contained"):
            continue
        if isinstance(value, str) and value.startswith(("http:", "urn:")):
            continue
        if name == "id":
            shown.append((name, [(value, True)]))
            continue
        some = [one for one in pieces(name, value, resource["resourceType"]) if one[0]]
        if some and any(one[1] is not None for one in some):
            shown.append((name, some))
    return shown


def written(some):
    return "".join(html.escape(text, quote=False) for text, _ in some)


def table(resource, shown):
    """Renders a table of two columns with a caption, as HAPI's templates do."""
    body = "".join(f"<tr><td>{words(name)}</td><td>{written(some)}</td></tr>" for name, some in shown)
    head = f'<div class="hapiHeaderText">{words(resource["resourceType"])}</div>'
    gold = [(words(resource["resourceType"]), False)]
    return f'{head}<table class="hapiPropertyTable"><tbody>{body}</tbody></table>', gold


def bold(resource, shown):
    """Renders paragraphs with bold headings, as in the standard's examples."""
    body = "".join(f"<p><b>{name}</b>: {written(some)}</p>" for name, some in shown)
    return f"<p><b>Generated Narrative with Details</b></p>{body}", [("Generated Narrative with Details", False)]


def definitions(resource, shown):
    """Renders a list of terms."""
    body = "".join(f"<dt>{words(name)}</dt><dd>{written(some)}</dd>" for name, some in shown)
    return f"<h2>{words(resource['resourceType'])}</h2><dl>{body}</dl>", [(words(resource["resourceType"]), False)]


def grid(resource, shown):
    """Renders a table with a row of headings and a row of values."""
    head = "".join(f"<th>{words(name)}</th>" for name, _ in shown)
    body = "".join(f"<td>{written(some)}</td>" for _, some in shown)
    return f"<table><thead><tr>{head}</tr></thead><tbody><tr>{body}</tr></tbody></table>", []


def items(resource, shown):
    """Renders a list of items with a colon after each heading."""
    body = "".join(f"<li>{words(name)}: {written(some)}</li>" for name, some in shown)
    return f"<h3>{words(resource['resourceType'])} Summary</h3><ul>{body}</ul>", [(words(resource["resourceType"]) + " Summary", False)]


def linked(resource, shown):
    """Renders a line with a link to the resource."""
    link = f'<a href="{resource["resourceType"]}/{resource["id"]}">{words(resource["resourceType"])}</a>'
    body = "<br/>".join(f"{words(name)}: {written(some)}" for name, some in shown)
    return f"<p>{link}</p><div>{body}</div>", [(words(resource["resourceType"]), False)]


STYLES = [table, bold, definitions, grid, items, linked]


def of(rng, resource):
    """Returns the `div` of a resource, and its pieces in order: text and whether it identifies."""
    shown = rows(resource)
    style = rng.choice(STYLES)
    body, gold = style(resource, shown)
    if style is grid:
        gold += [(words(name), False) for name, _ in shown]
        gold += [piece for _, some in shown for piece in some]
    else:
        for name, some in shown:
            gold += [(name if style is bold else words(name), False)] + some
    gold = [[text.strip(), bool(phi)] for text, phi in gold if phi is not None and text.strip()]
    return f'<div xmlns="http://www.w3.org/1999/xhtml">{body}</div>', gold
