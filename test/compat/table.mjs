const START = '<!-- Made by `npm run compat`. -->';
const END = '<!-- End of what is made. -->';
const HEAD = [
  'client',
  'works',
  'logs in, gets its guild',
  'answers',
  'answers after a cut',
  'voice',
  'remarks',
];

const mark = (is) => (is === null ? '–' : is ? 'yes' : 'no');

/** What the server's log or the library says, on one line of a table. */
const plain = (text) =>
  text.replace(/\s+/g, ' ').replaceAll('|', '\\|').replaceAll('<', '&lt;').slice(0, 160);

/** The cells of one client. */
export function rowOf({ name, remark }, found) {
  const { ready, guild, answer, again, voice, notes } = found;
  const works = ready && guild && answer && again && voice !== false;
  const remarks = [...(remark ? [remark] : []), ...notes].map(plain).join('; ');
  return [name, mark(works), mark(ready && guild), mark(answer), mark(again), mark(voice), remarks];
}

const line = (cells) => `| ${cells.join(' | ')} |`;

/** The page with these rows in place of those it has. */
export function pageWith(page, rows) {
  const [before, after] = [page.split(START)[0], page.split(END)[1]];
  if (after === undefined) throw new Error(`The page lacks ${START} or ${END}.`);
  const table = [line(HEAD), line(HEAD.map(() => '---')), ...rows.map(line)].join('\n');
  return `${before}${START}\n\n${table}\n\n${END}${after}`;
}

/** The clients that the page's table names, in its order. */
export const namesIn = (page) =>
  (page.split(START)[1]?.split(END)[0] ?? '')
    .split('\n')
    .filter((text) => text.startsWith('| '))
    .slice(2)
    .map((text) => text.slice(2).split(' | ')[0]);
