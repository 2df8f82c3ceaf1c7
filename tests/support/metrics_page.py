# SPDX-License-Identifier: Apache-2.0
"""metrics_page.py URL: prints a page of `volley run --metrics`.

The endpoint hangs up on a client that asks too slowly, which happens on a busy
machine. So this asks again, so often that only an endpoint without any answer is an error.
"""
import http.client
import sys
import urllib.error
import urllib.request


def page(url):
    """The page's text; urllib.error.HTTPError where another code is the answer."""
    for tries in range(60):
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                kind = answer.headers["Content-Type"]
                assert kind.startswith("text/plain"), answer.headers
                return answer.read().decode()
        except urllib.error.HTTPError:
            raise
        except (http.client.HTTPException, OSError) as error:
            last = error
    raise last


if __name__ == "__main__":
    sys.stdout.write(page(sys.argv[1]))
