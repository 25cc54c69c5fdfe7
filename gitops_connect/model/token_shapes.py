"""Tokens, keys and URLs that are secret and that their issuers write in a form of their own, as data.

Each form is one that its issuer documents or its tools print; `docs/contributing/secrets.md` names the sources. An
unbounded run of characters is always the end of a pattern or begins at a boundary: so every search takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class Credential(NamedTuple):
    """Index of the first character of a credential, index after its last one, and its kind, such as `a password`."""

    start: int
    end: int
    kind: str


_SHAPES = {
    "a GitHub token": r"gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{36,}",
    "a GitLab token": r"gl(?:agent|cbt|dt|ffct|ft|imt|oas|pat|ptt|rt|rtr|soat|wt)-[\w.-]{20,}",
    "a Slack token": r"xox[a-z](?:\.xox[bp])?-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,}",
    "an AWS access key": r"(?<![A-Za-z0-9])A(?:KIA|SIA)[A-Z0-9]{16}(?![A-Za-z0-9])"
    r"(?:[\s:;,/|]{1,3}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+]))?",
    "a Google API key": r"AIza[\w-]{35}",
    "a Google OAuth secret": r"GOCSPX-[\w-]{28}|ya29\.[\w-]{20,}",
    "a Stripe key": r"[rs]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9]{24,}",
    "an OpenAI or Anthropic key": r"(?<![A-Za-z0-9])sk-(?:(?:admin|ant|proj|svcacct)-[\w-]{20,}|[A-Za-z0-9]{32,})",
    "an npm token": r"npm_[A-Za-z0-9]{36}",
    "a PyPI token": r"pypi-AgE[\w-]{50,}",
    "a Docker token": r"dckr_[op]at_[\w-]{20,}",
    "a SendGrid key": r"SG\.[\w-]{22}\.[\w-]{43}",
    "a DigitalOcean token": r"do[opr]_v1_[0-9a-f]{64}",
    "a Hugging Face token": r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,40}",
    "a Databricks token": r"(?<![A-Za-z0-9])dapi[0-9a-f]{32}",
    "a Vault token": r"(?<![A-Za-z0-9])hv[brs]\.[\w-]{20,}",
    "a Terraform token": r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}",
    "a Grafana token": r"gl(?:c|sa)_[\w+/=]{32,}",
    "a New Relic key": r"NRAK-[A-Z0-9]{27}",
    "a Shopify token": r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    "an Atlassian token": r"ATATT3[\w=-]{50,}",
    "an Aiven password": r"AVNS_[\w-]{12,}",
    "a PlanetScale token": r"pscale_(?:oauth|pw|tkn)_[\w.=-]{30,}",
    "an Azure client secret": r"(?<![\w~.-])[\w~.]{3}[0-9]Q~[\w~.-]{31,34}",
    "a Telegram bot token": r"(?<![0-9])[0-9]{8,10}:AA[\w-]{33}",
    "a Twilio key": r"(?<![A-Za-z0-9])SK[0-9a-f]{32}(?![A-Za-z0-9])",
    "a signed token (JWT)": r"(?<![\w-])eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}",
    "a private key": r"(?<![A-Za-z0-9+/])MII[A-Za-z0-9+/]{2}[AQgw]IBA[AD][A-Za-z0-9+/=\s]{100,}"
    r"|AGE-SECRET-KEY-1[A-Z0-9]{58}",
    "a Slack webhook URL": r"(?<=hooks\.slack\.com/)(?:services|triggers|workflows)/[\w+/-]{20,}",
    "a Teams webhook URL": r"(?<=\.office\.com/)webhook(?:b2)?/[\w@/-]{36,}",
    "a Discord webhook URL": r"(?<=/api/)(?:v[0-9]{1,2}/)?webhooks/[0-9]{17,20}/[\w-]{60,}",
    "a webhook URL": r"(?<=/hooks/)(?:catch/[0-9]{1,20}/[\w/]+|[a-z0-9]{26}(?![a-z0-9]))|(?<=/with/key/)[\w-]{20,}",
    "an Azure function key": r"(?<=[?&]code=)[\w%=-]{20,}",
}
"""The pattern of each kind. A private key without PEM is DER in Base64: PKCS #8 or PKCS #1, and no certificate."""
_ANY = re.compile("|".join(f"({pattern})" for pattern in _SHAPES.values()), re.ASCII)
_KINDS = tuple(_SHAPES)
_HINT = re.compile(
    r"gh[pousr]_|github_pat_|gl[a-z]{1,5}[-_]|xox|xapp-|A(?:KIA|SIA|Iza|TATT3|VNS_|GE-S)|GOCSPX|ya29|[rs]k[-_]|whsec_|npm_"
    r"|pypi-|dckr_|SG\.|SK[0-9a-f]|do[opr]_v1|hf_|dapi[0-9a-f]|hv[brs]\.|atlasv1|NRAK|shp[a-z]{2}_|Q~|pscale_|:AA|eyJ|MII"
    r"|hook|/with/key/|code="
)
"""What a string with such a secret contains: a search for this takes a fraction of the time."""
_SHORTEST = 17


def shaped(text: str) -> Iterator[Credential]:
    """Every secret in the text that has such a form."""
    if len(text) >= _SHORTEST and _HINT.search(text):
        for found in _ANY.finditer(text):
            yield Credential(*found.span(), _KINDS[(found.lastindex or 1) - 1])
