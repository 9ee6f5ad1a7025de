"""Volcengine's request signature, version 4 (HMAC-SHA256)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

CONTENT_TYPE: Final = "application/json"
_SIGNED: Final = "content-type;host;x-content-sha256;x-date"


def signature(
    url: str, body: bytes, *, ak: str, sk: str, service: str, region: str, moment: datetime
) -> Mapping[str, str]:
    """The headers that sign a POST of JSON to ``url``, which has no parameters; ``moment`` is the time in UTC."""
    parts = urlsplit(url)
    date = moment.strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(body).hexdigest()
    host = parts.netloc.rpartition("@")[2]
    headers = f"content-type:{CONTENT_TYPE}\nhost:{host}\nx-content-sha256:{digest}\nx-date:{date}\n"
    request = f"POST\n{parts.path or '/'}\n\n{headers}\n{_SIGNED}\n{digest}"
    scope = f"{date[:8]}/{region}/{service}/request"
    to_sign = f"HMAC-SHA256\n{date}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = sk.encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signed = hmac.digest(key, to_sign.encode(), "sha256").hex()
    return {
        "X-Date": date,
        "X-Content-Sha256": digest,
        "Authorization": f"HMAC-SHA256 Credential={ak}/{scope}, SignedHeaders={_SIGNED}, Signature={signed}",
    }
