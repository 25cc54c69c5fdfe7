"""A GitHub app: it signs requests with its private key, and gets a token of its installation for each hour."""

from __future__ import annotations

from datetime import datetime, timedelta

from gitops_connect.errors import UsageError
from gitops_connect.forge.answers import Found
from gitops_connect.forge.api import ForgeApi, found_in
from gitops_connect.model.clock import Clock
from gitops_connect.settings.credential_sources import Credential

_CLOCK_SKEW = timedelta(minutes=1)
_SIGNED = timedelta(minutes=5)
"""How long a signature is valid. GitHub accepts ten minutes."""
_LONGEST = timedelta(hours=1)
"""How long a token of an installation is valid, whatever the answer says."""


class GithubApp:
    """The app, as one installation of it. The private key is read for each signature."""

    def __init__(self, app: int, installation: int, private_key: Credential, clock: Clock) -> None:
        import jwt  # noqa: PLC0415 - an extra

        self._jwt = jwt
        self._app = app
        self._installation = installation
        self._private_key = private_key
        self._clock = clock
        self._token = ""
        self._expires: datetime | None = None

    def ask(self, api: ForgeApi, method: str, path: str) -> Found:
        """The answer to a request of the app itself."""
        return found_in(api.send(method, path, authorization=self._signature))

    def authorization(self, api: ForgeApi) -> str:
        """With the token of the installation."""
        now = self._clock.now()
        if self._expires is None or now + _CLOCK_SKEW >= self._expires:
            found = self.ask(api, "POST", f"/app/installations/{self._installation}/access_tokens")
            self._token = found["token"].text()
            self._expires = min(found["expires_at"].time(), now + _LONGEST)
        return f"Bearer {self._token}"

    def _signature(self) -> str:
        now = self._clock.now()
        claims = {"iat": now - _CLOCK_SKEW, "exp": now + _SIGNED, "iss": str(self._app)}
        try:
            return f"Bearer {self._jwt.encode(claims, self._private_key.read(), 'RS256')}"
        except (self._jwt.PyJWTError, ValueError, TypeError) as error:
            raise UsageError("[forge] private_key: expected the private key of a GitHub app, as PEM") from error
