import { fileURLToPath } from 'node:url';
import { type Command, InvalidArgumentError } from 'commander';
import { wholeFrom } from '../../cli/flags.ts';
import { CommandError } from '../../cli/world.ts';
import { RunWatch } from '../about.ts';
import { voicePageOf } from '../gateway/page.ts';
import { spawnServer } from '../gateway/spawn.ts';
import { addRunOptions, noServer, present, type RunFlags, tokensOf } from '../options.ts';
import { progressBar } from '../progress.ts';
import { csvTable } from '../table.ts';
import { benchVoice, type VoiceBenchOptions } from './bench.ts';
import { MODES } from './member.ts';
import { VOICE_METRICS, type VoiceReport, voiceFiguresOf, voiceRowOf, voiceTableOf } from './report.ts';

interface Flags extends RunFlags {
  readonly guild?: string;
  readonly calls: number;
  readonly members: number;
  readonly speakers: number;
  readonly duration: number;
  readonly payloadBytes: number;
  readonly mode: string;
  readonly workers: number;
  readonly plain?: true;
}

function modeName(text: string): string {
  if (text in MODES) return text;
  throw new InvalidArgumentError(`It must be one of ${Object.keys(MODES).join(', ')}.`);
}

/** Adds `bench voice`. */
export function addVoiceBench(bench: Command): void {
  const voice = bench
    .command('voice')
    .description('calls full of speakers: packets forwarded, their latency and loss, CPU per packet');
  addRunOptions(voice, VOICE_METRICS, 'p99<20ms')
    .option('--calls <n>', 'calls', wholeFrom(1, 500), 1)
    .option('--members <n>', 'members of each', wholeFrom(2, 500), 10)
    .option('--speakers <n>', 'of them speaking at once', wholeFrom(1, 500), 2)
    .option('-d, --duration <seconds>', 'how long they speak', wholeFrom(1, 3600), 10)
    .option('--payload-bytes <n>', 'audio in a packet of 20 ms', wholeFrom(3, 1200), 160)
    .option('--mode <mode>', `transport encryption: ${Object.keys(MODES).join(' or ')}`, modeName, 'aes')
    .option('--guild <id>', 'guild of the bots, with --url')
    .option('--plain', 'with --url: the voice gateway has no TLS')
    .option('--workers <n>', 'with --spawn: media threads of the server', wholeFrom(0, 64), 1)
    .action(async (flags: Flags) => {
      const watch = new RunWatch();
      const report = await runFlags(flags);
      present(
        flags,
        {
          report,
          table: () => voiceTableOf(report),
          csv: () => csvTable([voiceRowOf(report)]),
          page: () => voicePageOf(report.headline, voiceFiguresOf(report), report),
          thresholds: report.thresholds,
          failures: report.failures,
        },
        watch,
      );
    });
}

async function runFlags(flags: Flags): Promise<VoiceReport> {
  if (flags.speakers > flags.members)
    throw new CommandError('There are more speakers than members.', 'Lower --speakers or raise --members.');
  if (flags.url !== undefined) return measure(flags, targetOf(flags, flags.url));
  if (!flags.spawn) throw noServer();
  const server = await spawnServer(process.execPath, [
    fileURLToPath(new URL('../../cli.js', import.meta.url)),
    ...['dev', '--json', '--port', '0', '--no-rate-limits'],
    ...['--bots', String(flags.calls * flags.members)],
    ...['--set', 'e2ee_required=false', '--set', 'voice_tls=off'],
    ...['--set', `voice_workers=${flags.workers}`],
    ...flags.set.flatMap((pair) => ['--set', pair]),
  ]);
  try {
    const { gateway, api, tokens, guildId, pids } = server;
    return await measure(flags, {
      gateway,
      api,
      tokens,
      guildId: guildId ?? '',
      serverPid: pids,
      isSecure: false,
    });
  } finally {
    await server.stop();
  }
}

type Server = Pick<VoiceBenchOptions, 'gateway' | 'api' | 'tokens' | 'guildId' | 'serverPid' | 'isSecure'>;

function targetOf(flags: Flags, gateway: string): Server {
  const tokens = tokensOf(flags);
  if (tokens.length === 0 || !flags.guild)
    throw new CommandError(
      'A server that runs needs bots in a guild.',
      'Give --tokens <file> and --guild <id>, or --spawn instead of --url to have a server started.',
    );
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
      thresholds: flags.threshold,
      isOwnHost: flags.iOwnThisHost === true,
      onProgress: bar.update,
    });
  } finally {
    bar.stop();
  }
}
