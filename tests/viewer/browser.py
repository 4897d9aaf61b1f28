"""A headless Chromium that draws in software, spoken to through a pipe in its own protocol."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find():
    """The program's path, or None; SHOAL_CHROMIUM names another."""
    named = os.environ.get("SHOAL_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page in one browser. With ``graphics`` False there is no WebGL."""

    def __init__(self, program, graphics=True, size=(640, 480)):
        self.folder = tempfile.TemporaryDirectory(prefix="shoal-browser-", ignore_cleanup_errors=True)
        to_browser, from_us = os.pipe()
        from_browser, to_us = os.pipe()
        drawing = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]

        def give_pipes():
            # The protocol wants descriptors 3 and 4; copies first, so that neither overwrites the other.
            reading, writing = os.dup(to_browser), os.dup(to_us)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self.process = subprocess.Popen(
            [
                program,
                "--headless=new",
                "--no-sandbox",
                "--remote-debugging-pipe",
                f"--user-data-dir={self.folder.name}",
                f"--window-size={size[0]},{size[1]}",
                "--force-device-scale-factor=1",
                "--hide-scrollbars",
                "--no-first-run",
                "--disable-extensions",
                "--disable-background-networking",
                "--disable-dev-shm-usage",
                "--force-color-profile=srgb",
                *(drawing if graphics else ["--disable-3d-apis", "--disable-gpu"]),
            ],
            preexec_fn=give_pipes,
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(to_us)
        self.out, self.into = from_us, from_browser
        self.buffer = b""
        self.number = 0
        self.events = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page", "Network"):
            self.ask(f"{domain}.enable")
        width, height = size
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def close(self):
        if self.process.poll() is None:
            try:
                self.ask("Browser.close")
                self.process.wait(20)
            except (OSError, TimeoutError, subprocess.TimeoutExpired):
                self.process.kill()
                self.process.wait()
        os.close(self.out)
        os.close(self.into)
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _receive(self, until):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.into], [], [], max(0, until - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.into, 1 << 20)
            if not part:
                raise OSError("the browser has gone away")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, seconds=120, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if hasattr(self, "session"):
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + seconds
        while True:
            answer = self._receive(until)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def value_of(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def open(self, path, settings=""):
        """Opens a file and waits until its scene is shown."""
        self.events.clear()
        self.ask("Page.navigate", url="about:blank")
        self.ask("Page.navigate", url=f"file://{path}{'#' + settings if settings else ''}")
        until = time.monotonic() + 120
        while not self.value_of("Boolean(window.shoal_viewer && window.shoal_viewer.ready)"):
            if time.monotonic() > until:
                raise TimeoutError(f"{path} shows nothing: {self.errors()}")
            time.sleep(0.05)

    def press(self, key, shift=False):
        """A key as the keyboard sends it; returns when the page has been drawn again."""
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, modifiers=8 if shift else 0, **text)
        self.value_of("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def state(self):
        return self.value_of("window.shoal_viewer.state()")

    def pixels(self, width, height):
        """What WebGL has drawn, scaled: bytes of RGB."""
        text = self.value_of(
            f"(() => {{ const all = shoal_viewer.pixels({width}, {height}); let text = '';"
            "for (let i = 0; i < all.length; i += 4) text += String.fromCharCode(all[i], all[i + 1], all[i + 2]);"
            "return btoa(text); })()"
        )
        return base64.b64decode(text)

    def screenshot(self):
        """The whole window as a PNG file's bytes."""
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])

    def errors(self):
        """What the console was told that is an error or an exception."""
        found = []
        for event in self.events:
            parameters = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(json.dumps(parameters["exceptionDetails"])[:500])
            elif event["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
                found.append(json.dumps(parameters["args"])[:2000])
            elif event["method"] == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                found.append(parameters["entry"]["text"])
        return found

    def requests(self):
        """The addresses that the page has asked for beyond itself."""
        addresses = [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return [address for address in addresses if not address.startswith(("file:", "blob:", "about:", "data:"))]
