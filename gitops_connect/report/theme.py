"""The colours, in a light and a dark theme, and the typography that all pages for a browser share."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --back: #f6f7f8; --card: #ffffff; --text: #1b1f24; --soft: #57606a; --line: #d5dbe1;
  --error: #b42318; --warning: #8a5300; --good: #1a6b3c; --rewind: #b5471f; --forward: #1a5fb4; --grid: #e3e7eb; }
@media (prefers-color-scheme: dark) { :root { --back: #14171a; --card: #1c2024; --text: #e6e8ea; --soft: #a5aeb8;
  --line: #3a424a; --error: #ff8f85; --warning: #f2c14e; --good: #74d39b; --rewind: #ee8a60; --forward: #74abff;
  --grid: #2b3137; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main, footer { max-width: 72rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 1.75rem; }
footer { padding-top: 1.5rem; padding-bottom: 2rem; color: var(--soft); font-size: .875rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .35rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2rem 0 .6rem; } h3 { font-size: 1rem; margin: 0 0 .25rem; }
p { margin: .35rem 0; } .soft { color: var(--soft); } a { color: var(--forward); }
code, .code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: .86em; overflow-wrap: anywhere; }
.verdict { display: inline-block; margin: .6rem 0 .2rem; padding: .3rem .8rem; border-radius: .4rem; font-weight: 600;
  border: 1px solid currentColor; }
.error { color: var(--error); } .warning { color: var(--warning); } .good { color: var(--good); }
dl.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: .75rem; margin: 1rem 0; }
dl.facts div, figure, details { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
dl.facts div { padding: .6rem .9rem; } dl.facts dt { color: var(--soft); font-size: .85rem; }
dl.facts dd { margin: 0; font-size: 1.35rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(30rem, 100%), 1fr)); gap: 1rem; }
figure { margin: 0; padding: .9rem 1rem; } figcaption { margin-bottom: .5rem; font-size: .9rem; }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--text); font-size: 13px; }
svg .tick { fill: var(--soft); font-size: 11px; } svg line { stroke: var(--grid); }
.bar-rewind { fill: var(--rewind); } .bar-forward { fill: var(--forward); }
.wide { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
table { border-collapse: collapse; width: 100%; min-width: 34rem; font-size: .925rem; }
caption { text-align: left; padding: .6rem .9rem 0; color: var(--soft); font-size: .875rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .9rem; border-top: 1px solid var(--line); }
thead th { border-top: 0; color: var(--soft); font-weight: 600; font-size: .85rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; } .place { white-space: nowrap; }
details { margin: .6rem 0; } summary { padding: .55rem .9rem; cursor: pointer; } details p { padding: 0 .9rem; }
details .wide { border: 0; border-top: 1px solid var(--line); border-radius: 0 0 .5rem .5rem; }
@media print { body { background: none; } details, figure, .wide { break-inside: avoid; } }
"""
