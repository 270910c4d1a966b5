#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""clicks.py EMPLACE: does the page to explore show the simulator's figures when it is clicked, at three widths? Skipped
without Chromium."""
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

EMPLACE = sys.argv[1]
TASK = ["nmt:layers=2,steps=8", "--machine", "k40x2"]
WIDTHS = [400, 900, 1600]
LIMIT = 3_000_000  # bytes of the page of nmt:layers=8

# Runs in the page: clicks, and sends what is there then to the page around it.
CLICKS = """
addEventListener('load', () => {
  const text = selector => [...document.querySelectorAll(selector)].map(e => e.innerText);
  const see = () => ({verdict: text('#verdict')[0], devices: text('.device'), title: text('#detail h3')[0],
    facts: text('#detail dd'), moves: text('#detail .moves tbody tr'), heat: text('#heat tbody tr td'),
    excess: document.documentElement.scrollWidth - document.documentElement.clientWidth});
  const seen = {first: see()};
  document.querySelector('td button[data-row="0"][data-device="1"]').click();
  seen.layer = see();
  const op = document.querySelector('[data-op]');
  seen.clicked = Number(op.dataset.op);
  op.click();
  seen.op = see();
  const measure = document.getElementById('measure');
  measure.value = 'ops';
  measure.dispatchEvent(new Event('change'));
  seen.ops = see();
  const slider = document.getElementById('slider');
  slider.value = slider.max;
  slider.dispatchEvent(new Event('input'));
  seen.last = see();
  parent.postMessage(JSON.stringify(seen), '*');
});
"""
AROUND = """<!DOCTYPE html><pre id="out"></pre><script>
const all = {}, frames = [];
addEventListener('message', e => {
  all[frames.find(f => f.contentWindow === e.source).dataset.width] = JSON.parse(e.data);
  document.getElementById('out').textContent = JSON.stringify(all);
});
for (const width of WIDTHS) {
  const frame = document.createElement('iframe');
  frames.push(frame);
  frame.dataset.width = width;
  frame.style = `width:${width}px;height:2000px;border:0`;
  frame.src = 'clicked.html';
  document.body.append(frame);
}
</script>"""


def emplace(*arguments):
    return json.loads(subprocess.run([EMPLACE, *arguments, "--format", "json"], capture_output=True, check=True,
                                     text=True).stdout)


def digits(value):
    """JavaScript's toPrecision(3) below 100, else whole."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:#.3g}".rstrip(".")


def seconds(ns):
    if ns == 0:
        return "0"
    for unit, factor in (("s", 1e9), ("ms", 1e6)):
        if ns >= factor:
            return f"{digits(ns / factor)} {unit}"
    return f"{digits(ns / 1e3)} µs"


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))


def click(browser, folder, page):
    (folder / "clicked.html").write_text(page.replace("</body>", f"<script>{CLICKS}</script></body>"), "utf-8")
    (folder / "around.html").write_text(AROUND.replace("WIDTHS", json.dumps(WIDTHS)), "utf-8")
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile",
         "--window-size=1600,2000", "--virtual-time-budget=20000", "--dump-dom", (folder / "around.html").as_uri()],
        capture_output=True, text=True, timeout=200, check=True)
    found = re.search(r'<pre id="out">(.+?)</pre>', done.stdout, re.S)
    assert found, f"the page did not answer: {done.stdout[:500]} {done.stderr[-500:]}"
    return json.loads(html.unescape(found.group(1)))


def check_width(seen, data, simulated):
    first, last = data["placements"][data["shown"]], data["placements"][-1]
    for state in ("first", "layer", "op", "ops", "last"):
        assert seen[state]["excess"] <= 0, f"{state}: {seen[state]['excess']} pixels too wide"
    step_ns = round(simulated["step_time_s"] * 1e9)
    assert seconds(step_ns) in seen["first"]["verdict"], seen["first"]["verdict"]
    for card, (name, busy_s) in zip(seen["first"]["devices"], simulated["busy_s"].items()):
        assert name in card and seconds(round(busy_s * 1e9)) in card, card
    # A layer: its title, and a line for each device that it can go to, with the oracle's step.
    assert seen["layer"]["title"] == data["rows"][0]
    moves = [move for move in first["rows"][0]["moves"] if move]
    assert len(seen["layer"]["moves"]) == len(moves) > 0
    for line, move in zip(seen["layer"]["moves"], moves):
        assert move[2] is not None and seconds(move[2]) in line, (line, move)
    # An op: its name, when it waits and how long it runs.
    op = first["ops"][seen["clicked"]]
    assert seen["op"]["title"] == data["names"][op["name"]]
    assert op["row"] == 0
    assert seconds(op["wait_ns"]) in seen["op"]["facts"]
    assert any(fact.startswith(seconds(op["run_ns"])) for fact in seen["op"]["facts"])
    # The other measure, and the last placement.
    counts = [str(n) if n else "·" for row in first["rows"] for n in row["ops"]]
    assert seen["ops"]["heat"] == counts
    assert last["label"] in seen["last"]["verdict"] and seconds(last["step_ns"]) in seen["last"]["verdict"]
    assert seen["last"]["title"] == data["rows"][0], "the layer stays chosen"
    assert seen["last"]["devices"] != seen["first"]["devices"]


def main():
    browser = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        page = folder / "page.html"
        simulated = emplace("simulate", *TASK, "--placement", "anneal", "--budget", "200", "--beside", "cpu",
                            "--explore", str(page))
        data = data_of(page.read_text("utf-8"))
        labels = [p["label"] for p in data["placements"]]
        assert {"anneal", "cpu"} < set(labels), labels
        assert any("number 2" in label for label in labels), "runners-up of the search"
        if browser is None:
            print("skipped: Chromium is not installed (Debian: chromium)")
            return 77
        for width, seen in click(browser, folder, page.read_text("utf-8")).items():
            check_width(seen, data, simulated)
            print(f"ok: {width} pixels, {len(labels)} placements")
        emplace("simulate", "nmt:layers=8", "--machine", "k40x4", "--placement", "expert", "--beside", "gpu",
                "--explore", str(folder / "large.html"))
        size = (folder / "large.html").stat().st_size
        # A page has 16 placements at most.
        assert 8 * size < LIMIT, f"{size} bytes with two placements of nmt:layers=8"
        print(f"ok: {size} bytes with two placements of nmt:layers=8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
