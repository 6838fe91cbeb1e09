// `node scripts/flame.mjs CPU.cpuprofile [--after 20] [--title "POST message"] > chart.svg`: draws a profile that
// `node --cpu-prof` has written as a flame chart, the callers above what they call. What ran before `--after` seconds is left out.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { after: { type: 'string', default: '0' }, title: { type: 'string', default: '' } },
});
const [file] = positionals;
if (file === undefined) {
  process.stderr.write('Name the profile: node scripts/flame.mjs CPU.cpuprofile > chart.svg\n');
  process.exit(2);
}

const WIDTH = 1200;
const ROW = 17;
const HEAD = 40;
/** Narrower calls are left out: nobody could read them. */
const NARROWEST = 1.2;
const CHARACTER = 6.8;
/** Not work of the process. */
const IDLE = new Set(['(idle)']);

const root = { name: 'all', micros: 0, calls: new Map() };
addSamples(JSON.parse(readFileSync(file, 'utf8')), Number(values.after) * 1e6);
const rows = [];
place(root, 0, 0);
process.stdout.write(drawing());

/** Adds each sample to the calls of its stack, so that equal stacks are one. */
function addSamples({ nodes, samples, timeDeltas, startTime }, afterMicros) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  for (const { id, children = [] } of nodes) for (const child of children) byId.get(child).parent = id;
  let at = startTime;
  for (const [index, id] of samples.entries()) {
    const micros = timeDeltas[index];
    at += micros;
    if (at - startTime < afterMicros || IDLE.has(byId.get(id).callFrame.functionName)) continue;
    const stack = [];
    for (let node = byId.get(id); node?.parent !== undefined; node = byId.get(node.parent))
      stack.push(nameOf(node));
    root.micros += micros;
    let call = root;
    for (const name of stack.reverse()) {
      if (!call.calls.has(name)) call.calls.set(name, { name, micros: 0, calls: new Map() });
      call = call.calls.get(name);
      call.micros += micros;
    }
  }
}

function nameOf({ callFrame: { functionName, url } }) {
  const name = functionName || '(anonymous)';
  // Functions of V8 and the system have no file; what V8 itself does has a name in parentheses.
  if (url === '') return name.startsWith('(') && functionName !== '' ? name : `native:${name}`;
  return `${url.startsWith('node:') ? 'node:' : url.includes('node_modules') ? 'package:' : ''}${name}`;
}

function place(call, left, depth) {
  rows[depth] ??= [];
  rows[depth].push({ ...call, left });
  let next = left;
  for (const each of [...call.calls.values()].sort((a, b) => b.micros - a.micros)) {
    if (widthOf(each) >= NARROWEST) place(each, next, depth + 1);
    next += widthOf(each);
  }
}

function widthOf({ micros }) {
  return (micros / root.micros) * WIDTH;
}

function drawing() {
  const height = HEAD + rows.length * ROW + 4;
  const boxes = rows.flatMap((row, depth) => row.map((call) => boxOf(call, depth)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="monospace" font-size="11">`,
    `<title>${escaped(values.title)}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="4" y="24" font-size="16">${escaped(values.title)}</text>`,
    ...boxes,
    '</svg>\n',
  ].join('\n');
}

function boxOf(call, depth) {
  const [x, y, width] = [call.left.toFixed(1), HEAD + depth * ROW, widthOf(call)];
  const share = `${((call.micros / root.micros) * 100).toFixed(1)} %`;
  const label = call.name.slice(0, Math.max(0, Math.floor(width / CHARACTER) - 1));
  const text =
    label.length > 2 ? `<text x="${(call.left + 2).toFixed(1)}" y="${y + 12}">${escaped(label)}</text>` : '';
  const box = `<rect x="${x}" y="${y}" width="${Math.max(0.5, width - 0.5).toFixed(1)}" height="${ROW - 1}" fill="${colourOf(call.name)}"/>`;
  return `<g><title>${escaped(`${call.name} ${share}`)}</title>${box}${text}</g>`;
}

/** The system and garbage collection, Node, packages, and the server itself. */
function colourOf(name) {
  if (name.startsWith('native:') || (name.startsWith('(') && name !== '(anonymous)')) return '#c9c9c9';
  if (name.startsWith('node:')) return '#a9cbe8';
  return name.startsWith('package:') ? '#b9dcae' : '#f2c879';
}

function escaped(text) {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
