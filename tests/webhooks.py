"""A receiver of webhooks for the tests, which keeps what it is sent and answers as it is told."""

import contextlib
import http.server
import threading
import time


class Receiver:
    """Takes posts on a free port; ``answers`` are the statuses of the next ones, then 200; None closes unanswered."""

    def __init__(self, context=None, port=0):
        self.posts, self.answers, self.delay = [], [], 0.0
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                time.sleep(receiver.delay)
                status = receiver.answers.pop(0) if receiver.answers else 200
                receiver.posts.append((status, self.path, dict(self.headers), body))
                if status is None:
                    self.connection.close()
                    return
                self.send_response(status)
                if status in (301, 302, 307):
                    self.send_header("Location", f"http://127.0.0.1:{receiver.port}/elsewhere")
                self.send_header("Content-Length", "0")
                with contextlib.suppress(OSError):
                    self.end_headers()

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        if context is not None:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.server.handle_error = lambda *given: None
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}/hook"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def taken(self):
        """The bodies that were answered by 200."""
        return [body for status, _, _, body in self.posts if status == 200]

    def wait(self, n, seconds=30):
        """Until that many posts have come."""
        end = time.monotonic() + seconds
        while len(self.posts) < n:
            assert time.monotonic() < end, self.posts
            time.sleep(0.01)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
