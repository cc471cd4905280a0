"""Drive a headless Chromium over its debugging protocol, for the tests of the report's page."""

import base64
import json
import shutil
import subprocess
import time
from urllib.request import urlopen

EXECUTABLE = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

OPTIONS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
]


class Page:
    """One page; `console` collects its errors and warnings, `requests` every address that it asked for."""

    def __init__(self, folder):
        import websocket

        profile = folder / "profile"
        self._process = subprocess.Popen(
            [EXECUTABLE, *OPTIONS, f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            port = self._wait_for(lambda: (profile / "DevToolsActivePort").read_text().split("\n")[0])
            self._socket = websocket.create_connection(self._wait_for(lambda: self._address(port)), timeout=60)
        except BaseException:
            self._end_process()
            raise
        self._number, self.console, self.requests, self._loaded = 0, [], [], False
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._socket.close()
        self._end_process()

    def _end_process(self):
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(20)

    def _wait_for(self, what, seconds=60):
        end = time.monotonic() + seconds
        while True:
            try:
                return what()
            except (OSError, StopIteration):
                if time.monotonic() > end or self._process.poll() is not None:
                    raise RuntimeError("Chromium did not start") from None
                time.sleep(0.1)

    @staticmethod
    def _address(port):
        with urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
            targets = json.load(answer)
        return next(target["webSocketDebuggerUrl"] for target in targets if target["type"] == "page")

    def send(self, method, **parameters):
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]
            self._event(message)

    def _event(self, message):
        method, given = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.console.append(given["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning"):
            self.console.append(str(given["args"]))
        elif method == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
            self.console.append(given["entry"]["text"])

    def open(self, path, width=1280, height=900):
        self.resize(width, height)
        self._loaded = False
        self.send("Page.navigate", url=path.absolute().as_uri())
        while not self._loaded:
            self._event(json.loads(self._socket.recv()))

    def resize(self, width, height=900):
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def run(self, script):
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def click(self, selector):
        """Press the mouse in the middle of an element, as a user does."""
        x, y = self.middle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def hover(self, x, y):
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def middle(self, selector):
        return self.run(
            f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{block: "center"}}); const b = e.getBoundingClientRect();
            return [b.x + b.width / 2, b.y + b.height / 2]; }})()"""
        )

    def screenshot(self, path, whole=False):
        answer = self.send("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))
