import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Command, InvalidArgumentError } from 'commander';
import { wholeFrom } from '../../cli/flags.ts';
import { CommandError } from '../../cli/world.ts';
import { voicePageOf } from '../gateway/page.ts';
import { spawnServer } from '../gateway/spawn.ts';
import { progressBar } from '../progress.ts';
import { benchVoice, type VoiceBenchOptions } from './bench.ts';
import { MODES } from './member.ts';
import { headlineOf, type VoiceReport, voiceFiguresOf, voiceTableOf } from './report.ts';

interface Flags {
  readonly target?: string;
  readonly api?: string;
  readonly tokens?: string;
  readonly guild?: string;
  readonly calls: number;
  readonly members: number;
  readonly speakers: number;
  readonly duration: number;
  readonly payloadBytes: number;
  readonly mode: string;
  readonly workers: number;
  readonly serverPid?: number;
  readonly plain?: true;
  readonly json?: true;
  readonly html?: string;
  readonly iOwnThisHost?: true;
}

function modeName(text: string): string {
  if (text in MODES) return text;
  throw new InvalidArgumentError(`It must be one of ${Object.keys(MODES).join(', ')}.`);
}

/** Adds `bench voice`. */
export function addVoiceBench(bench: Command): void {
  bench
    .command('voice')
    .description('calls full of speakers: packets forwarded, their latency and loss, CPU per packet')
    .option('--calls <n>', 'calls', wholeFrom(1, 500), 1)
    .option('--members <n>', 'members of each', wholeFrom(2, 500), 10)
    .option('--speakers <n>', 'of them speaking at once', wholeFrom(1, 500), 2)
    .option('-d, --duration <seconds>', 'how long they speak', wholeFrom(1, 3600), 10)
    .option('--payload-bytes <n>', 'audio in a packet of 20 ms', wholeFrom(3, 1200), 160)
    .option('--mode <mode>', `transport encryption: ${Object.keys(MODES).join(' or ')}`, modeName, 'aes')
    .option('--target <ws-url>', 'gateway of a server that runs (default: one is started for the run)')
    .option('--api <url>', 'its REST API, ending in /api (default: beside the gateway)')
    .option('--tokens <file>', "one bot's token a line, all of one guild")
    .option('--guild <id>', 'that guild')
    .option('--plain', 'its voice gateway has no TLS')
    .option('--server-pid <pid>', 'its process, when it runs here', wholeFrom(1, 2 ** 31))
    .option('--workers <n>', 'media threads of a server that is started', wholeFrom(0, 64), 1)
    .option('--json', 'print the report as JSON')
    .option('--html <file>', 'write it as a page with plots')
    .option('--i-own-this-host', 'allow a host that is not this machine')
    .action(async (flags: Flags) => {
      const report = await runFlags(flags);
      process.stdout.write(`${flags.json ? JSON.stringify(report) : voiceTableOf(report)}\n`);
      if (flags.html) writeFileSync(flags.html, pageOf(report));
    });
}

const pageOf = (report: VoiceReport): string =>
  voicePageOf(headlineOf(report), voiceFiguresOf(report), report);

async function runFlags(flags: Flags): Promise<VoiceReport> {
  if (flags.speakers > flags.members)
    throw new CommandError('There are more speakers than members.', 'Lower --speakers or raise --members.');
  if (flags.target !== undefined) return measure(flags, targetOf(flags, flags.target));
  const server = await spawnServer(process.execPath, [
    fileURLToPath(new URL('../../cli.js', import.meta.url)),
    ...['dev', '--json', '--port', '0', '--no-rate-limits'],
    ...['--bots', String(flags.calls * flags.members)],
    ...['--set', 'e2ee_required=false', '--set', 'voice_tls=off'],
    ...['--set', `voice_workers=${flags.workers}`],
  ]);
  try {
    const { gateway, api, tokens, guildId, pid } = server;
    return await measure(flags, {
      gateway,
      api,
      tokens,
      guildId: guildId ?? '',
      serverPid: pid,
      isSecure: false,
    });
  } finally {
    await server.stop();
  }
}

type Server = Pick<VoiceBenchOptions, 'gateway' | 'api' | 'tokens' | 'guildId' | 'serverPid' | 'isSecure'>;

function targetOf(flags: Flags, gateway: string): Server {
  if (!flags.tokens || !flags.guild)
    throw new CommandError(
      'A server that runs needs bots in a guild.',
      'Give --tokens <file> and --guild <id>, or leave --target out to have a server started.',
    );
  const tokens = readFileSync(flags.tokens, 'utf8')
    .split(/\s+/)
    .filter((token) => token !== '');
  const beside = new URL(gateway);
  const api = flags.api ?? `${beside.protocol === 'wss:' ? 'https' : 'http'}://${beside.host}/api`;
  const { guild, serverPid = null, plain = false } = flags;
  return { gateway, api, tokens, guildId: guild, serverPid, isSecure: !plain };
}

async function measure(flags: Flags, server: Server): Promise<VoiceReport> {
  const bar = progressBar();
  const { calls, members, speakers, duration, payloadBytes } = flags;
  try {
    return await benchVoice({
      ...server,
      calls,
      members,
      speakers,
      payloadBytes,
      durationSeconds: duration,
      mode: MODES[flags.mode] as VoiceBenchOptions['mode'],
      isOwnHost: flags.iOwnThisHost === true,
      onProgress: bar.update,
    });
  } finally {
    bar.stop();
  }
}
