// The page around a text: heading with the search, all pages at one side, the headings of this page at the other.
import { escaped } from './markdown.mjs';

/**
 * @param page `{ path, title, lead, html, headings }`; `path` is the page's place on the site, such as `start/bot.html`.
 * @param nav The chapters: `[{ title, pages: [{ path, title }] }]`.
 * @param assets Names of the script and the style sheet: `{ script, style }`.
 */
export function framed(page, nav, { script, style }, version) {
  const root = '../'.repeat(page.path.split('/').length - 1);
  const order = nav.flatMap(({ pages }) => pages);
  const at = order.findIndex(({ path }) => path === page.path);
  const title = page.path === 'index.html' ? 'Guildhall documentation' : `${page.title} · Guildhall`;
  return `<!doctype html>
<html lang="en" data-root="${root === '' ? './' : root}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<meta name="description" content="${escaped(page.lead.slice(0, 160))}">
<link rel="icon" href="${root}icon.svg">
<link rel="stylesheet" href="${root}${style}">
<script defer src="${root}${script}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
<header>
<a class="home" href="${root}index.html">Guildhall <span>${escaped(version)}</span></a>
<button type="button" class="menu" aria-expanded="false" aria-controls="nav">Pages</button>
<search class="search" hidden>
<label><span class="search-word">Search</span><input type="search" placeholder="Search ( / )" autocomplete="off" spellcheck="false"></label>
<p class="count" role="status"></p>
<ol class="results" aria-label="Results"></ol>
</search>
</header>
<nav id="nav" aria-label="All pages">
${nav.map((chapter) => chapterOf(chapter, page, root)).join('\n')}
</nav>
<main id="content">
${page.html}
<p class="around">${neighbour(order[at - 1], 'Previous', root)} ${neighbour(at === -1 ? undefined : order[at + 1], 'Next', root)}</p>
</main>
${contents(page)}
</body>
</html>
`;
}

function chapterOf({ title, pages }, page, root) {
  const isOpen = pages.some(({ path }) => path === page.path);
  const items = pages.map(({ path, title: name }) => {
    const current = path === page.path ? ' aria-current="page"' : '';
    return `<li><a href="${root}${path}"${current}>${escaped(name)}</a></li>`;
  });
  return `<details${isOpen || page.path === 'index.html' ? ' open' : ''}><summary>${escaped(title)}</summary><ul>${items.join('')}</ul></details>`;
}

const neighbour = (page, word, root) =>
  page === undefined ? '' : `<a href="${root}${page.path}">${word}: ${escaped(page.title)}</a>`;

function contents({ headings }) {
  const shown = headings.filter(({ depth }) => depth <= 3);
  if (shown.length < 2 || shown.length > 60) return '';
  const items = shown.map(
    ({ depth, text, id }) => `<li class="depth${depth}"><a href="#${id}">${escaped(text)}</a></li>`,
  );
  return `<aside aria-label="On this page"><p class="contents-title">On this page</p><ul>${items.join('')}</ul></aside>`;
}
