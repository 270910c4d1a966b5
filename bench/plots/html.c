// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/plots/html.h"

#include <stdint.h>
#include <string.h>

#include "bench/plots/drawing.h"

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

/* Copies the first character, and returns the text behind it. */
static const char *take_character(const char *text, char character[EMP_CHARACTER_BYTES])
{
    int length = character_length((const unsigned char *)text);

    memset(character, 0, EMP_CHARACTER_BYTES);
    if (length == 0)
        memcpy(character, REPLACEMENT, sizeof REPLACEMENT);
    else
        memcpy(character, text, (size_t)length);
    return text + (length > 0 ? length : 1);
}

const char *emp_html_next(const char *text, char character[EMP_CHARACTER_BYTES])
{
    text = take_character(text, character);
    if (character[0] == '\n' || character[0] == '\t') character[0] = ' ';
    return text;
}

void emp_html_text(FILE *file, const char *text)
{
    char character[EMP_CHARACTER_BYTES];

    while (*text != '\0') {
        text = take_character(text, character);
        switch (character[0]) {
        case '&': fputs("&amp;", file); break;
        case '<': fputs("&lt;", file); break;
        case '>': fputs("&gt;", file); break;
        case '"': fputs("&quot;", file); break;
        case '\'': fputs("&#39;", file); break;
        default: fputs(character, file);
        }
    }
}

void emp_html_base64(FILE *file, const char *bytes, size_t size)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = (const unsigned char *)bytes;

    for (size_t i = 0; i < size; i += 3) {
        uint32_t three = (uint32_t)at[i] << 16;
        if (i + 1 < size) three |= (uint32_t)at[i + 1] << 8;
        if (i + 2 < size) three |= at[i + 2];
        fputc(digits[three >> 18], file);
        fputc(digits[three >> 12 & 63], file);
        fputc(i + 1 < size ? digits[three >> 6 & 63] : '=', file);
        fputc(i + 2 < size ? digits[three & 63] : '=', file);
    }
}

void emp_html_put(FILE *file, const char *before, const char *text, const char *after)
{
    fputs(before, file);
    emp_html_text(file, text);
    fputs(after, file);
}

/* Drawings name their colours of texts, axes and grids; a page has its own for them. */
#define RECOLOUR(colour, variable)                      \
    "svg [fill=\"" colour "\"]{fill:var(" variable ")}" \
    "svg [stroke=\"" colour "\"]{stroke:var(" variable ")}\n"

static const char style[] =
    ":root{color-scheme:light dark;--ink:" EMP_INK ";--soft:" EMP_SOFT
    ";--line:" EMP_FAINT ";--paper:#fff}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#e3e6ea;--soft:#9aa4ae;"
    "--line:#39424c;--paper:#15191e}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:90rem;padding:1.5rem 1.25rem 4rem;color:var(--ink);"
    "background:var(--paper);font:16px/1.5 system-ui,sans-serif;"
    "font-variant-numeric:tabular-nums}\n"
    "h1{font-size:clamp(1.25rem,5vw,1.7rem);line-height:1.2;margin:0 0 "
    ".3rem;overflow-wrap:anywhere}\n"
    "h2{font-size:clamp(1.1rem,4vw,1.25rem);margin:2.6rem 0 .3rem;padding-top:.8rem;"
    "border-top:1px solid var(--line);overflow-wrap:anywhere}\n"
    "h3{font-size:1.02rem;margin:1.6rem 0 .4rem;overflow-wrap:anywhere}\n"
    "p{margin:.3rem 0 .7rem;max-width:48rem}\n"
    ".how,.note,figcaption{color:var(--soft);font-size:.92rem}\n"
    ".note{overflow-wrap:anywhere}\n"
    "figcaption b{color:var(--ink);font-weight:600}\n"
    "figcaption a,nav a{color:inherit}\nfigcaption a{white-space:nowrap}\n"
    "code{font-size:.92em;overflow-wrap:anywhere}\n"
    "nav{font-size:.92rem;margin:.6rem 0}\n"
    "nav a{display:inline-block;margin:0 1.1rem .2rem 0}\n"
    ".scroll{overflow-x:auto;margin:.5rem 0 1rem}\n"
    "table{border-collapse:collapse;width:max-content;font-size:.88rem;white-space:"
    "nowrap}\n"
    "caption{text-align:left;font-weight:600;padding:.3rem 0}\n"
    "th,td{padding:.28rem .8rem .28rem 0;text-align:right;vertical-align:top;"
    "border-bottom:1px solid var(--line)}\n"
    "th{font-weight:600;color:var(--soft);vertical-align:bottom}\n"
    "th[colspan]{text-align:left}\n"
    "th:first-child,td:first-child,.text{text-align:left}\n"
    "td small{display:block;color:var(--soft);font-size:.85em}\n"
    "td.wrap{white-space:normal;max-width:26rem}\n"
    "tr.best td:first-child{font-weight:700}\n"
    ".pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,34rem),1fr)"
    ");"
    "gap:.8rem 1.6rem;align-items:end}\n"
    ".figure{margin:1.2rem 0 .8rem;min-width:0}\n"
    "figcaption{margin:0 0 .2rem;max-width:48rem}\n"
    "svg{display:block;width:100%;height:auto}\n"
    "svg.plot{color:var(--ink)}\nsvg.plot text{fill:var(--soft);font-family:sans-serif}\n"
    "svg.plot path.gridline{opacity:.45}\n.paper svg.plot text{fill:inherit}\n" RECOLOUR(
        EMP_INK, "--ink") RECOLOUR(EMP_SOFT, "--soft")
        RECOLOUR(EMP_FAINT,
                 "--line") "@media "
                           "print{:root{color-scheme:light;--ink:#000;--soft:#444;--line:"
                           "#bbb;--paper:#fff}"
                           "body{max-width:none;padding:0;font-size:10pt}"
                           ".figure,tr{break-inside:avoid}h2,caption{break-after:avoid}"
                           ".scroll{overflow:visible}svg{min-width:0!important;max-"
                           "height:23cm}.pair{"
                           "display:block}"
                           "table{width:auto;font-size:7.5pt;white-space:normal}th,td{"
                           "padding-right:"
                           ".4rem}"
                           "figcaption a,nav{display:none}}\n";

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
