import { SECTIONS, type Setting } from '../config/config.ts';

const INTRODUCTION = `# Configuration

Every setting has a default; a server that is told nothing runs. What is said wins in this order:

1. flags: \`--port 4000\`, or any setting as \`--set key=value\`;
2. the environment: the key in capitals behind \`GUILDHALL_\`, as in \`GUILDHALL_LISTEN_PORT=4000\`
   (\`DATABASE_URL\` is read as \`database_url\`);
3. the file \`guildhall.yaml\`, or the one that \`--config\` or \`GUILDHALL_CONFIG\` names, one \`key: value\` a line;
4. the defaults below.

A key that is no setting is an error, not a silence. \`guildhall config print\` shows what is in force,
\`guildhall config schema\` gives editors a JSON Schema.

\`guildhall dev\` reads no file and listens on loopback only. \`guildhall start\` keeps its data in \`./data\` unless told
otherwise, and does not open a public address without a database and a \`token_secret\` of its own.

<!-- Generated from config/config.ts by \`guildhall config page\`; a test fails when it is stale. -->
`;

/** The page docs/configuration.md. */
export function settingsPage(): string {
  const chapters = Object.entries(SECTIONS).map(([title, settings]) => {
    const rows = Object.entries<Setting>(settings).map(([key, setting]) => row(key, setting));
    return [`## ${title}`, '', '| key | default | what it is |', '| --- | --- | --- |', ...rows, ''].join(
      '\n',
    );
  });
  return [INTRODUCTION, ...chapters].join('\n');
}

function row(key: string, { standard, expected, doc, secret }: Setting): string {
  const marks = [
    `${expected[0]!.toUpperCase()}${expected.slice(1)}.`,
    ...(secret ? ['Secret: masked wherever shown.'] : []),
  ];
  return `| \`${key}\` | \`${String(standard)}\` | ${doc} *${marks.join(' ')}* |`;
}
