"""What clients show beside our name."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

_DRAWING: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#245"/>'
    '<path d="M3 12V4l5 5 5-5v8" fill="none" stroke="#fff" stroke-width="2"/></svg>'
)
ICON: Final[Mapping[str, Any]] = {
    "src": f"data:image/svg+xml;base64,{base64.b64encode(_DRAWING.encode()).decode()}",
    "mimeType": "image/svg+xml",
    "sizes": ["any"],
}
"""What clients show beside our name; within the message, since nothing of ours is fetched from anywhere."""
