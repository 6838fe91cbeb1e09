const START = '<!-- Made by `npm run compat`. -->';
const END = '<!-- End of what is made. -->';
const HEAD = [
  'client',
  'works',
  'logs in, gets its guild',
  'answers',
  'commands',
  'buttons',
  'answers after a cut',
  'offline after its shutdown',
  'voice',
  'remarks',
];

const NAMES = { command: 'commands', button: 'buttons', voice: 'voice' };

const mark = (is) => (typeof is === 'string' ? is : is === null ? '–' : is ? 'yes' : 'no');

/** A message of the server's log or of the library, on one line of a table. */
const plain = (text) =>
  text.replace(/\s+/g, ' ').replaceAll('|', '\\|').replaceAll('<', '&lt;').slice(0, 160);

/** Messages are the least that is asked of a client; the rest may have been refused for what the library lacks. */
function verdict({ ready, guild, answer, again, ...others }) {
  if (!(ready && guild && answer && again)) return 'no';
  const failed = ['command', 'button', 'voice'].filter((feature) => others[feature] === false);
  return failed.length > 0 ? `except ${failed.map((feature) => NAMES[feature]).join(', ')}` : 'yes';
}

/** The cells of one client. */
export function rowOf({ name, remark, voice: tried }, found) {
  const { ready, guild, answer, again, returned, offline, command, button, notes } = found;
  const voice = found.voice ?? (typeof tried === 'string' ? tried : null);
  const remarks = [...(remark ? [remark] : []), ...notes].map(plain).join('; ');
  const cut = again && returned ? `yes, ${returned}` : again;
  const cells = [ready && guild, answer, command, button, cut, offline, voice];
  return [name, verdict(found), ...cells.map(mark), remarks];
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
