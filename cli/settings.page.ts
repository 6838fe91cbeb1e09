import { SECTIONS, type Setting } from '../config/config.ts';

const INTRODUCTION = `# Configuration

Every setting has a default, so a server runs without any. Sources take precedence in this order:

1. flags: \`--port 4000\`, or any setting as \`--set key=value\`;
2. the environment: the key in capitals after \`GUILDHALL_\`, as in \`GUILDHALL_LISTEN_PORT=4000\`
   (\`DATABASE_URL\` is read as \`database_url\`);
3. the file \`guildhall.yaml\`, or the file named by \`--config\` or \`GUILDHALL_CONFIG\`, with one \`key: value\` per line;
4. the defaults below.

An unknown key is an error. \`guildhall config print\` shows the settings in effect, \`guildhall config schema\` prints a
JSON Schema for editors.

\`guildhall dev\` reads no file and listens on loopback only. \`guildhall start\` keeps its data in \`./data\` by
default, and does not open a public address without a database and a \`token_secret\`.

<!-- Generated from config/config.ts by \`guildhall config page\`; a test fails when it is stale. -->
`;

/** Generates the page docs/configuration.md. */
export function settingsPage(): string {
  const chapters = Object.entries(SECTIONS).map(([title, settings]) => {
    const rows = Object.entries<Setting>(settings).map(([key, setting]) => row(key, setting));
    return [`## ${title}`, '', '| key | default | description |', '| --- | --- | --- |', ...rows, ''].join(
      '\n',
    );
  });
  return [INTRODUCTION, ...chapters].join('\n');
}

function row(key: string, { default: initial, expected, doc, secret }: Setting): string {
  const marks = [
    `${expected[0]!.toUpperCase()}${expected.slice(1)}.`,
    ...(secret ? ['Secret: masked wherever shown.'] : []),
  ];
  return `| \`${key}\` | \`${String(initial)}\` | ${doc} *${marks.join(' ')}* |`;
}
