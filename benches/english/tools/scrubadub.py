"""scrubadub with the detectors that it turns on for US English. The one for names needs a downloaded corpus."""
import scrubadub

from tools import common

CATEGORIES = {
    "email": "CONTACT",
    "phone": "CONTACT",
    "skype": "CONTACT",
    "twitter": "CONTACT",
    "url": "CONTACT",
    "credit_card": "ID",
    "drivers_licence": "ID",
    "social_security_number": "ID",
    "vehicle_licence_plate": "ID",
    "credential": "NAME",  # a user name, with the password behind it
    "address": "LOCATION",
    "postalcode": "LOCATION",
    "date_of_birth": "DATE",
}


def category(filth):
    """Findings that touch come as one, of several types: it has a category where all of them have that one."""
    categories = {CATEGORIES.get(part.type) for part in getattr(filth, "filths", [filth])}
    return categories.pop() or "OTHER" if len(categories) == 1 else "OTHER"


def finder():
    scrubber = scrubadub.Scrubber(locale="en_US")

    def find(text):
        return [(filth.beg, filth.end, category(filth)) for filth in scrubber.iter_filth(text)]

    return find


if __name__ == "__main__":
    common.run("scrubadub", finder())
