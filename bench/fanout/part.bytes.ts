import { DispatchBody } from '../../engine/fanout/body.ts';
import { laneFor } from '../../transports/gateway/codec/lane.ts';
import { openCorpus, seeded } from './corpus.ts';
import { HistoryStream } from './deflate.ts';
import type { Finding } from './parts.ts';

const MESSAGES = 2000;
/** Connections of each kind to average over, since private events reach different ones at different times. */
const SOCKETS = 20;
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
  };
  const ratios = {
    splicedOverRawJson: bytes.spliced / bytes.rawJson,
    splicedOverHistory: bytes.spliced / bytes.history,
    splicedOverHistoryWithPrivate: bytes.spliced / bytes.historyWithPrivate,
    historyOverRawJson: bytes.history / bytes.rawJson,
  };
  return {
    lines: [
      `bytes per delivery of ${MESSAGES} messages`,
      `raw JSON                              ${bytes.rawJson.toFixed(0)}`,
      `spliced, one compression for all      ${bytes.spliced.toFixed(0)}`,
      `history of each socket                ${bytes.history.toFixed(0)}`,
      `the same, 1 % private events          ${bytes.historyWithPrivate.toFixed(0)}`,
      `spliced / raw JSON                    ${ratios.splicedOverRawJson.toFixed(2)} (target for shared history ≤ 0.30)`,
      `spliced / history                     ${ratios.splicedOverHistory.toFixed(2)} (target for shared history ≤ 1.25)`,
    ],
    figures: { messages: MESSAGES, bytes, ratios },
  };
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
