import { DispatchBody } from '../../engine/fanout/body.ts';
import { Histories } from '../../transports/gateway/codec/history.ts';
import { laneFor } from '../../transports/gateway/codec/lane.ts';
import { openCorpus, seeded } from './corpus.ts';
import { HistoryStream } from './deflate.ts';
import type { Finding } from './parts.ts';

const MESSAGES = 2000;
/** Connections of each kind to average over, since private events reach different ones at different times. */
const SOCKETS = 20;
/** Connections that share a history. */
const SHARING = 1000;
const PRIVATE_SHARE = 0.01;
/** Share of events that only one connection receives: interactions, private messages. */
const PRIVATE = 'INTERACTION_CREATE';

/** Measures bytes on the wire per delivery of MESSAGE_CREATE (G2). Nothing is timed. */
export function measureBytes(): Finding {
  const messageOf = openCorpus();
  const zlibLane = laneFor('json', 'zlib-stream');
  const plainLane = laneFor('json', '');
  if (!zlibLane || !plainLane) throw new Error('The gateway does not speak zlib-stream.');
  let plain = 0;
  let spliced = 0;
  const bodies = Array.from(
    { length: MESSAGES },
    (_, index) => new DispatchBody('MESSAGE_CREATE', messageOf(index), 0),
  );
  for (const [index, body] of bodies.entries()) {
    plain += plainLane.dispatch(body, index + 1).length;
    spliced += zlibLane.dispatch(body, index + 1).length;
  }
  const bytes = {
    rawJson: plain / MESSAGES,
    spliced: spliced / MESSAGES,
    history: historyBytes(bodies, 0),
    historyWithPrivate: historyBytes(bodies, PRIVATE_SHARE),
    shared: sharedBytes(bodies, 0),
    sharedWithPrivate: sharedBytes(bodies, PRIVATE_SHARE),
  };
  const ratios = {
    splicedOverRawJson: bytes.spliced / bytes.rawJson,
    sharedOverRawJson: bytes.shared / bytes.rawJson,
    sharedWithPrivateOverRawJson: bytes.sharedWithPrivate / bytes.rawJson,
    sharedOverHistory: bytes.shared / bytes.history,
    sharedWithPrivateOverHistory: bytes.sharedWithPrivate / bytes.historyWithPrivate,
  };
  const line = (name: string, value: string, target: string): string =>
    `${name.padEnd(42)} ${value}${target}`;
  const ratio = (name: string, value: number, max: number): string =>
    line(name, value.toFixed(2), `, target ≤ ${max.toFixed(2)}: ${value <= max ? 'met' : 'missed'}`);
  return {
    lines: [
      `bytes per delivery of ${MESSAGES} messages`,
      line('raw JSON', bytes.rawJson.toFixed(0), ''),
      line('spliced, one compression for all', bytes.spliced.toFixed(0), ''),
      line(`history shared by ${SHARING} connections`, bytes.shared.toFixed(0), ''),
      line('the same, 1 % private events', bytes.sharedWithPrivate.toFixed(0), ''),
      line('history of each socket', bytes.history.toFixed(0), ''),
      line('the same, 1 % private events', bytes.historyWithPrivate.toFixed(0), ''),
      ratio('shared / history', ratios.sharedOverHistory, 1.25),
      ratio('shared / history, 1 % private events', ratios.sharedWithPrivateOverHistory, 1.6),
      ratio('shared / raw JSON', ratios.sharedOverRawJson, 0.3),
      ratio('shared / raw JSON, 1 % private events', ratios.sharedWithPrivateOverRawJson, 0.3),
    ],
    figures: { messages: MESSAGES, sharing: SHARING, bytes, ratios },
  };
}

/** Mean bytes of a message in streams that share a history, without the bytes of private events. */
function sharedBytes(bodies: readonly DispatchBody[], privateShare: number): number {
  const written: (() => void)[] = [];
  const histories = new Histories((run) => written.push(run));
  const lanes = Array.from({ length: SHARING }, () => histories.laneOf(histories.independent));
  const chance = seeded(0);
  let total = 0;
  for (const [index, body] of bodies.entries()) {
    body.recipients = SHARING;
    for (const lane of lanes) {
      if (chance() < privateShare) lane.dispatch(new DispatchBody(PRIVATE, {}, 0), index + 1);
      total += lane.dispatch(body, index + 1).length;
    }
    for (const run of written.splice(0)) run();
  }
  return total / (SHARING * bodies.length);
}

/** Mean bytes of a message in streams with a compression history, without the bytes of private events. */
function historyBytes(bodies: readonly DispatchBody[], privateShare: number): number {
  let total = 0;
  for (let socket = 0; socket < SOCKETS; socket += 1) {
    const chance = seeded(socket);
    const stream = new HistoryStream();
    let seq = 0;
    const write = (t: string, d: unknown): number => {
      seq += 1;
      return stream.write(Buffer.from(JSON.stringify({ t, op: 0, d, s: seq }))).length;
    };
    for (const { t, d } of bodies) {
      if (chance() < privateShare) write(PRIVATE, { ...(d as object), token: `${socket}.${chance()}` });
      total += write(t, d);
    }
    stream.close();
  }
  return total / (SOCKETS * bodies.length);
}
