"""A headless Chromium, driven through its debugging pipe with the standard library alone.

Chromium reads commands from file descriptor 3 and writes answers and events to 4, each a JSON
object that ends in a zero byte, so neither a port nor a WebSocket client is needed.
"""

import json
import os
import select
import shutil
import signal
import tempfile
import time

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]
TIMEOUT = 60
KEYS = {"Enter": (13, "\r"), "Tab": (9, ""), " ": (32, " "), "Escape": (27, "")}
KEYS |= {"ArrowLeft": (37, ""), "ArrowUp": (38, ""), "ArrowRight": (39, ""), "ArrowDown": (40, "")}


def find_chromium():
    """The browser named by CHROMIUM, or the first known name on the path, or None.

    None on Windows as well, which has no descriptors 3 and 4 to hand on.
    """
    if os.name != "posix":
        return None
    names = ["chromium", "chromium-browser", "google-chrome", "chrome"]
    candidates = [os.environ["CHROMIUM"]] if os.environ.get("CHROMIUM") else names
    return next(filter(None, map(shutil.which, candidates)), None)


class Browser:
    """One process with one page; `messages` and `requests` gather what the page says and asks."""

    def __init__(self, executable):
        self.profile = tempfile.mkdtemp(prefix="chromium-profile-")
        self.messages, self.requests = [], []
        self._buffer, self._sent, self._session = b"", 0, None
        self._start(executable)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(f"{domain}.enable")

    def _start(self, executable):
        import fcntl  # not on Windows

        ends = [*os.pipe(), *os.pipe()]
        # Out of the way of 3 and 4, which the child's ends become.
        high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 50) for end in ends]
        for end in ends:
            os.close(end)
        child_in, self._out, self._in, child_out = high
        arguments = [executable, *FLAGS, f"--user-data-dir={self.profile}"]
        silence = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
        pipes = [(os.POSIX_SPAWN_DUP2, child_in, 3), (os.POSIX_SPAWN_DUP2, child_out, 4)]
        self.pid = os.posix_spawn(
            executable, arguments, os.environ, file_actions=silence + pipes, setpgroup=0
        )
        os.close(child_in)
        os.close(child_out)

    def close(self):
        os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def call(self, method, **parameters):
        """Send one command and return its answer; events that arrive first are noted."""
        self._sent += 1
        message = {"id": self._sent, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._sent:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def _receive(self):
        deadline = time.monotonic() + TIMEOUT
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0, deadline - time.monotonic()))
            piece = os.read(self._in, 1 << 20) if ready else b""
            if not piece:
                raise RuntimeError("the browser gave no answer")
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(line)
        self._note(message.get("method"), message.get("params"))
        return message

    def _note(self, event, about):
        if event == "Runtime.exceptionThrown":
            self.messages.append(json.dumps(about["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled":
            self.messages.append(json.dumps(about["args"]))
        elif event == "Log.entryAdded":
            self.messages.append(about["entry"]["text"])
        elif event == "Page.javascriptDialogOpening":
            self.messages.append(f"dialog: {about['message']}")
        elif event == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])

    def open(self, path, width=1280, height=900, scheme="light"):
        """Load a file, or an address, in a window of the given size; forget what was said."""
        phone = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", media="", features=[feature])
        self.messages.clear()
        self.requests.clear()
        address = path if isinstance(path, str) else path.absolute().as_uri()
        self.call("Page.navigate", url=address)
        deadline = time.monotonic() + TIMEOUT
        while self.run("document.readyState + location.protocol") not in (
            "completefile:",
            "completehttp:",
        ):
            assert time.monotonic() < deadline, "the page did not load"
            time.sleep(0.02)

    def run(self, expression):
        """Evaluate JavaScript in the page and return its value."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def click(self, selector):
        """Press the mouse in the middle of an element, wherever a user would have to scroll."""
        x, y = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});"
            "const r = e.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2];})()"
        )
        for kind in ["mousePressed", "mouseReleased"]:
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key):
        """Press and let go a key: a letter or digit, or one of KEYS."""
        code, text = KEYS[key] if key in KEYS else (ord(key.upper()), key)
        name = f"Key{key.upper()}" if key not in KEYS else key.strip() or "Space"
        about = {"key": key, "code": name, "windowsVirtualKeyCode": code}
        text = {"text": text} if text else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **text, **about)
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def save_to(self, folder):
        """Let downloads go to a folder."""
        self.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def give_file(self, selector, path):
        """Choose a file in an input of files."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=node, files=[str(path)])

    def wait(self, expression, seconds=30):
        """Return the value of an expression once it is true."""
        deadline = time.monotonic() + seconds
        while not (value := self.run(expression)):
            assert time.monotonic() < deadline, f"never true: {expression}"
            time.sleep(0.02)
        return value

    def type(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, whole_page=False):
        """The picture as base64 text."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole_page)
        return answer["data"]
