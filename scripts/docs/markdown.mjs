// Turns a Markdown page into what the site needs of it: HTML, its title, its headings, and its sections for the search.
import { dirname, normalize } from 'node:path/posix';
import { Marked } from 'marked';

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
export const escaped = (text) => text.replace(/[&<>"]/g, (character) => ENTITIES[character]);

/** The anchor of a heading, as GitHub makes it: the same links work in the repository and on the site. */
export const slugOf = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');

/** Numbers repeated anchors of one page, as GitHub does. */
export function anchors() {
  const seen = new Map();
  return (heading) => {
    const slug = slugOf(heading);
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  };
}

/** The text of a heading or a paragraph, without its markup. */
const plain = (tokens) =>
  tokens.map((token) => (token.tokens ? plain(token.tokens) : (token.text ?? token.raw))).join('');

/**
 * @param source Markdown.
 * @param path Of the page, from the root of the repository.
 * @param hrefOf What a link leads to: (path from the root, anchor with `#` or '') => { address, title }.
 * @returns `{ html, title, lead, headings: [{ depth, text, id }], sections: [{ id, heading, text }] }`
 */
export function rendered(source, path, hrefOf) {
  const page = { title: path, lead: '', headings: [], sections: [] };
  const anchor = anchors();
  const marked = new Marked({
    gfm: true,
    // Addresses in a text are examples, not links.
    tokenizer: { url: () => undefined },
    renderer: {
      heading({ tokens, depth }) {
        const text = plain(tokens);
        const id = anchor(text);
        if (depth === 1) page.title = text;
        else page.headings.push({ depth, text, id });
        const link =
          depth === 1 ? '' : ` <a class="anchor" href="#${id}" aria-label="Link to ${escaped(text)}">#</a>`;
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}${link}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const { address, title } = resolved(href, path, hrefOf);
        // A link by file name reads as the title of the page.
        const text = /^[\w-]+\.md$/.test(plain(tokens)) ? escaped(title) : this.parser.parseInline(tokens);
        return `<a href="${escaped(address)}">${text}</a>`;
      },
      code({ text, lang }) {
        const name = /^[\w-]+/.exec(lang ?? '')?.[0] ?? '';
        const label = name === '' ? '' : ` data-language="${name}"`;
        return `<pre tabindex="0"${label}><code>${escaped(text)}</code></pre>\n`;
      },
      table(token) {
        const row = (cells, tag) =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`;
        const body = token.rows.map((cells) => row(cells, 'td')).join('\n');
        return `<div class="table" tabindex="0"><table><thead>${row(token.header, 'th')}</thead>\n<tbody>${body}</tbody></table></div>\n`;
      },
      // Pages contain comments for those who edit them, and no other markup.
      html: ({ text }) => (text.trim().startsWith('<!--') ? '' : escaped(text)),
    },
  });
  const html = marked.parse(source);
  const tokens = marked.lexer(source);
  page.lead = plain(tokens.find(({ type }) => type === 'paragraph')?.tokens ?? []).replace(/\s+/g, ' ');
  return { ...page, html, sections: sectionsOf(tokens, page.title) };
}

function resolved(href, path, hrefOf) {
  if (/^[a-z]+:/.test(href) || href.startsWith('#')) return { address: href, title: href };
  const [target, anchor] = href.split('#');
  return hrefOf(
    normalize(`${dirname(path)}/${target}`).replace(/\/$/, ''),
    anchor === undefined ? '' : `#${anchor}`,
  );
}

/** The text below each heading, for the search. */
function sectionsOf(tokens, title) {
  const anchor = anchors();
  const sections = [{ id: '', heading: title, text: '' }];
  for (const token of tokens) {
    if (token.type === 'heading') {
      const heading = plain(token.tokens);
      const id = anchor(heading);
      if (token.depth > 1) sections.push({ id, heading, text: '' });
    } else if (token.type !== 'html' && token.type !== 'space') sections.at(-1).text += ` ${token.raw}`;
  }
  return sections.map((section) => ({ ...section, text: unmarked(section.text) }));
}

const unmarked = (text) =>
  text
    .replace(/\]\([^)]*\)/g, '')
    .replace(/[`*|[\]]|^\s*[-:]+\s*$/gm, ' ')
    .replace(/\s+/g, ' ')
    .trim();
