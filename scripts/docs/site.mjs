// The documentation as files of a site, by path: pages made of docs/, of the pages of the project, and the sources that they
// link to.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { normalize, relative } from 'node:path/posix';
import MiniSearch from 'minisearch';
import { rendered } from './markdown.mjs';
import { framed } from './template.mjs';

/** Pages outside docs/, and the chapter that lists them. */
const PROJECT = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'];
const PROJECT_CHAPTER = 'Project';
const INDEX = 'docs/index.md';
/** Pictures, as SVG. */
const IMAGES = 'docs/images';
/** Settings of the search in the page's script; both sides must agree. */
export const SEARCH = { fields: ['heading', 'page', 'text'], storeFields: ['heading', 'page', 'start'] };
const START_LENGTH = 140;

/** Markdown files of the site by path from the root. */
export const pagesOf = (root) => [...markdownUnder(root, 'docs'), ...PROJECT];

function markdownUnder(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return markdownUnder(root, path);
      return path.endsWith('.md') ? [path] : [];
    })
    .toSorted();
}

/** Where a page of the repository is on the site. */
const placeOf = (path) =>
  path.startsWith('docs/')
    ? path.slice(5).replace(/\.md$/, '.html')
    : `project/${path.toLowerCase().replace(/\.md$/, '.html')}`;

/**
 * Makes the site.
 *
 * @param root Of the repository.
 * @param assets Names of the script and the style sheet on the site.
 * @returns Text by path on the site.
 * @throws Error naming each link that leads nowhere.
 */
export function siteOf(root, assets, version) {
  const paths = pagesOf(root);
  const known = new Set(paths);
  const markdown = new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
  const titles = new Map([...markdown].map(([path, text]) => [path, /^# (.+)$/m.exec(text)?.[1] ?? path]));
  const sources = new Set();
  const broken = [];
  const texts = new Map();
  for (const path of paths) {
    const here = placeOf(path);
    const hrefOf = (target, anchor) => {
      const aim = known.has(`${target}/index.md`) ? `${target}/index.md` : target;
      const title = titles.get(aim) ?? aim;
      if (known.has(aim)) return { address: `${fromTo(here, placeOf(aim))}${anchor}`, title };
      if (!isFile(join(root, aim))) broken.push(`${path}: ${target}`);
      else sources.add(aim);
      return { address: fromTo(here, `files/${aim}.txt`), title };
    };
    texts.set(path, { ...rendered(markdown.get(path), path, hrefOf), path: here });
  }
  if (broken.length > 0) throw new Error(`These links lead nowhere:\n${broken.join('\n')}`);
  const nav = chaptersOf(markdown.get(INDEX), texts);
  const files = new Map();
  for (const page of texts.values()) files.set(page.path, framed(page, nav, assets, version));
  for (const path of sources) files.set(`files/${path}.txt`, readFileSync(join(root, path), 'utf8'));
  for (const name of readdirSync(join(root, IMAGES)))
    files.set(`images/${name}`, readFileSync(join(root, IMAGES, name), 'utf8'));
  files.set('search.json', JSON.stringify(searchOf([...texts.values()])));
  return files;
}

const fromTo = (from, to) => relative(normalize(`${from}/..`), to);

const isFile = (path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** The headings of docs/index.md with the pages that each lists first; a page stands in one chapter only. */
function chaptersOf(index, texts) {
  const listed = new Set([INDEX]);
  const chapters = [];
  for (const [, line] of index.matchAll(/^(.*)$/gm)) {
    const heading = /^## (.+)$/.exec(line)?.[1];
    if (heading !== undefined) chapters.push({ title: heading, pages: [] });
    for (const [, target] of line.matchAll(/\]\(([^)#\s]+)\)/g)) {
      const path = normalize(`docs/${target}`).replace(/\/$/, '');
      const page = texts.get(path) ?? texts.get(`${path}/index.md`);
      if (page === undefined || listed.has(page.path) || chapters.length === 0) continue;
      if (PROJECT.includes(path) || path === INDEX) continue;
      listed.add(page.path);
      chapters.at(-1).pages.push({ path: page.path, title: page.title });
    }
  }
  const project = PROJECT.map((path) => ({ path: placeOf(path), title: texts.get(path).title }));
  const withPages = chapters.filter(({ pages }) => pages.length > 0);
  return [...withPages, { title: PROJECT_CHAPTER, pages: project }];
}

function searchOf(pages) {
  const index = new MiniSearch(SEARCH);
  for (const { path, title, sections } of pages) {
    for (const { id, heading, text } of sections) {
      const start = text.slice(0, START_LENGTH);
      index.add({ id: id === '' ? path : `${path}#${id}`, heading, page: title, text, start });
    }
  }
  return index;
}
