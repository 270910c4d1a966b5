// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/plots/html.h"

#include <stdint.h>

static const char REPLACEMENT[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Bytes of the UTF-8 character at text (RFC 3629); 0 = it is none, or none of XML. */
static int character_length(const unsigned char *text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char         c = text[0];
    int                   length = c < 0x80   ? 1
                                   : c < 0xc0 ? 0
                                   : c < 0xe0 ? 2
                                   : c < 0xf0 ? 3
                                   : c < 0xf8 ? 4
                                              : 0;
    uint32_t              code = c;

    if (length == 1) return c >= 0x20 || c == '\t' || c == '\n' ? 1 : 0;
    if (length == 0) return 0;
    code = c & (0xffu >> (length + 1));
    for (int i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) return 0; /* the end of the text, too */
        code = code << 6 | (text[i] & 0x3fu);
    }
    if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ||
        code == 0xfffe || code == 0xffff)
        return 0;
    return length;
}

void emp_html_text(FILE *file, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    while (*at != '\0') {
        int length = character_length(at);
        switch (length == 0 ? 0 : *at) {
        case 0: fputs(REPLACEMENT, file); break;
        case '&': fputs("&amp;", file); break;
        case '<': fputs("&lt;", file); break;
        case '>': fputs("&gt;", file); break;
        case '"': fputs("&quot;", file); break;
        case '\'': fputs("&#39;", file); break;
        default: fwrite(at, 1, (size_t)length, file);
        }
        at += length > 0 ? length : 1;
    }
}

void emp_html_put(FILE *file, const char *before, const char *text, const char *after)
{
    fputs(before, file);
    emp_html_text(file, text);
    fputs(after, file);
}

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1b1f24;--soft:#59636e;--line:#d5dae0;"
    "--paper:#fff;--tint:#f5f7f9}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#e3e6ea;--soft:#9aa4ae;"
    "--line:#39424c;--paper:#15191e;--tint:#1d2329}}\n"
    "@media print{:root{--ink:#000;--soft:#444;--line:#bbb;--paper:#fff;--tint:#fff}"
    ".figure,.scroll{break-inside:avoid}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:70rem;padding:1.5rem 1.25rem 4rem;color:var(--ink);"
    "background:var(--paper);font:16px/1.5 system-ui,sans-serif;"
    "font-variant-numeric:tabular-nums}\n"
    "h1{font-size:1.7rem;line-height:1.2;margin:0 0 .3rem}\n"
    "h2{font-size:1.25rem;margin:2.6rem 0 .3rem;padding-top:.8rem;"
    "border-top:1px solid var(--line)}\n"
    "h3{font-size:1.02rem;margin:1.6rem 0 .4rem;overflow-wrap:anywhere}\n"
    "p{margin:.3rem 0 .7rem;max-width:48rem}\n"
    ".how,.note,figcaption{color:var(--soft);font-size:.92rem}\n"
    "nav{font-size:.92rem;margin:.6rem 0}\nnav "
    "a{margin-right:1.1rem;color:inherit;white-space:nowrap}\n"
    ".scroll{overflow-x:auto;margin:.5rem 0 1rem}\n"
    "table{border-collapse:collapse;font-size:.88rem;white-space:nowrap}\n"
    "caption{text-align:left;font-weight:600;padding:.3rem 0}\n"
    "th,td{padding:.28rem .8rem .28rem 0;text-align:right;vertical-align:top;"
    "border-bottom:1px solid var(--line)}\n"
    "th{font-weight:600;color:var(--soft);vertical-align:bottom}\n"
    "th:first-child,td:first-child,.text{text-align:left}\n"
    "td small{display:block;color:var(--soft);font-size:.8rem}\n"
    "td.wrap{white-space:normal;max-width:22rem;min-width:5.5rem}\n"
    "td.memory{white-space:normal;min-width:12rem}\n"
    "tr.best td:first-child{font-weight:700}\n"
    ".pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,27rem),1fr)"
    ");"
    "gap:.8rem 1.6rem}\n"
    ".small{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,10.5rem),"
    "1fr));"
    "gap:.6rem 1.2rem}\n"
    ".figure{margin:.4rem 0;min-width:0}\n"
    "figcaption{margin:0 0 .2rem}\n"
    "svg{display:block;width:100%;height:auto;color:var(--ink)}\n"
    "svg text{fill:var(--soft);font-family:system-ui,sans-serif}\n"
    ".paper svg text{fill:inherit}\n"
    "svg.plot path.gridline{opacity:.45}\n"
    "svg .name{fill:var(--ink)}\nsvg .on{fill:#111}\nsvg .inverse{fill:#fff}\n"
    ".wide{overflow-x:auto}\n.wide svg{min-width:42rem}\n"
    ".legend{display:flex;flex-wrap:wrap;gap:.15rem 1.1rem;font-size:.88rem;padding:0;"
    "margin:.3rem 0 .6rem;list-style:none}\n"
    ".legend li{display:flex;align-items:center;gap:.4rem;overflow-wrap:anywhere}\n"
    ".legend svg{width:1.7rem;flex:none}\n";

void emp_html_begin(FILE *file, const char *title)
{
    fputs("<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n"
          "<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
          "<link rel=\"icon\" href=\"data:,\"/>\n<title>",
          file);
    emp_html_text(file, title);
    fprintf(file, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", style);
}

void emp_html_end(FILE *file) { fputs("</body>\n</html>\n", file); }
