# SPDX-License-Identifier: Apache-2.0
"""The server's end of SPDY/3.1, as far as kubectl's exec and port-forward use it: without flow control, as theirs."""

import struct
import threading
import zlib

_NAMES = """
options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow
authorization cache-control connection content-base content-encoding content-language content-length
content-location content-md5 content-range content-type date etag expect expires from host if-match
if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma
proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade
user-agent vary via warning www-authenticate method get status
""".split()  # noqa: SIM905
_MORE = ["200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin"]
_REST = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative "
    "Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 "
    "Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec "
    "00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset="
    "iso-8859-1,utf-,*,enq=0."
)
DICTIONARY = b"".join(struct.pack(">I", len(one)) + one.encode() for one in (*_NAMES, *_MORE)) + _REST.encode()
"""Of the specification, 2.6.10.1."""
SYN_STREAM, SYN_REPLY, RST_STREAM, PING = 1, 2, 3, 6
FIN = 1


class Session:
    """Streams over one connection. opened: called with a stream's id and headers; data: with id, bytes, its end."""

    def __init__(self, reader, writer, opened, data):
        self._reader, self._writer = reader, writer
        self._opened, self._data = opened, data
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)
        self._deflate = zlib.compressobj(zdict=DICTIONARY)
        self._lock = threading.Lock()

    def run(self):
        """Until the other end closes."""
        while len(head := self._reader.read(8)) == 8:
            first, second = struct.unpack(">II", head)
            flags, length = second >> 24, second & 0xFFFFFF
            payload = self._reader.read(length)
            if not first >> 31:
                self._data(first, payload, bool(flags & FIN))
            elif first & 0xFFFF == SYN_STREAM:
                number = struct.unpack(">I", payload[:4])[0] & 0x7FFFFFFF
                headers = self._headers(payload[10:])
                self._control(SYN_REPLY, struct.pack(">I", number), {})
                self._opened(number, headers)
            elif first & 0xFFFF == PING:
                self._send(struct.pack(">II", 0x80030000 | PING, 4) + payload)
            elif first & 0xFFFF == RST_STREAM:
                self._data(struct.unpack(">I", payload[:4])[0], b"", True)

    def write(self, number, data, *, end=False):
        for start in range(0, max(len(data), 1), 1 << 16):
            piece = data[start : start + (1 << 16)]
            last = end and start + (1 << 16) >= len(data)
            self._send(struct.pack(">II", number, (FIN if last else 0) << 24 | len(piece)) + piece)

    def _headers(self, block):
        plain = self._inflate.decompress(block)
        count, at, words = struct.unpack(">I", plain[:4])[0], 4, []
        for _ in range(2 * count):
            length = struct.unpack(">I", plain[at : at + 4])[0]
            words.append(plain[at + 4 : at + 4 + length].decode())
            at += 4 + length
        return dict(zip(words[::2], words[1::2], strict=True))

    def _control(self, kind, fields, headers):
        with self._lock:
            block = struct.pack(">I", len(headers))
            packed = self._deflate.compress(block) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
            body = fields + packed
            self._writer.write(struct.pack(">II", 0x80030000 | kind, len(body)) + body)
            self._writer.flush()

    def _send(self, frame):
        with self._lock:
            self._writer.write(frame)
            self._writer.flush()
