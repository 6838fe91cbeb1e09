// Goal: a run of voice follows every packet to every member of its call, over the whole signalling of a real server.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { voicePageOf } from '../../bench/gateway/page.ts';
import { benchVoice, type VoiceBenchOptions, type VoiceProgress } from '../../bench/voice/bench.ts';
import { headlineOf, voiceFiguresOf, voiceTableOf } from '../../bench/voice/report.ts';
import { seedDemo } from '../../cli/demo.ts';
import type { Engine } from '../../embedding.ts';
import { createEngine } from '../../main.ts';

const START_MS = 120_000;
let engine: Engine;
let options: VoiceBenchOptions;
const progress: VoiceProgress[] = [];

beforeAll(async () => {
  engine = await createEngine({
    config: {
      log_level: 'silent',
      listen_port: 0,
      voice_port: 0,
      voice_udp_port: 0,
      voice_workers: 0,
      voice_tls: 'off',
      e2ee_required: false,
      rate_limits: false,
    },
  });
  const { gateway, api } = await engine.listen();
  const demo = await seedDemo(engine, { bots: 6 });
  options = {
    gateway,
    api,
    tokens: demo.bots.map(({ token }) => token),
    guildId: demo.guild.id,
    calls: 2,
    members: 3,
    speakers: 2,
    durationSeconds: 0.4,
    payloadBytes: 80,
    mode: 'aead_aes256_gcm_rtpsize',
    isSecure: false,
    isOwnHost: false,
    serverPid: process.pid,
    thresholds: ['lost<1', 'p99<0.1us'],
    onProgress: (each) => progress.push(each),
  };
}, START_MS);
afterAll(() => engine.close());

describe('a run', { timeout: START_MS }, () => {
  test.each(['aead_aes256_gcm_rtpsize', 'aead_xchacha20_poly1305_rtpsize'] as const)(
    'counts what two speakers in each of two calls send, to the packet (%s)',
    async (mode) => {
      const report = await benchVoice({ ...options, mode });
      expect(report.sent).toBe(80);
      expect(report.expected).toBe(160);
      expect(report.deliveries).toBe(160);
      expect(report.lost).toBe(0);
      // Header, audio, tag and nonce.
      expect(report.bytesPerPacket).toBe(12 + 80 + 16 + 4);
      expect(report.latencyMs.p50).toBeGreaterThan(0);
      expect(report.server?.cpuMicrosPerPacket).toBeGreaterThan(0);
      expect(progress).toContainEqual({ phase: 'joining', done: 6, of: 6 });
      expect(report.timeline.reduce((sum, packets) => sum + packets, 0)).toBe(160);
      expect(report).toMatchObject({ dropped: 0, failures: [], url: options.gateway });
      expect(report.thresholds.map(({ kept }) => kept)).toEqual([true, false]);
      expect(voiceTableOf(report)).toContain(headlineOf(report));
      const page = voicePageOf(headlineOf(report), voiceFiguresOf(report), report);
      expect(page).toContain('Packets received in each second');
      expect(page).not.toMatch(/<script|https?:/);
    },
  );

  test('says so where there are too few bots, or one may not come in', async () => {
    await expect(benchVoice({ ...options, members: 4 })).rejects.toThrow('need 8 bots, and there are 6');
    const [first] = options.tokens as [string];
    const tokens = [first, 'wrong', ...options.tokens.slice(2)];
    await expect(benchVoice({ ...options, tokens })).rejects.toThrow(/could not join: .* 4004/);
  });

  test('keeps its hands off machines of others', async () => {
    await expect(benchVoice({ ...options, gateway: 'wss://voice.example.org' })).rejects.toThrow(
      'voice.example.org is not this machine',
    );
  });
});
