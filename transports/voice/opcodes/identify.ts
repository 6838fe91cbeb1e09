import { Type } from 'typebox';
import {
  CHANNEL_VERSION,
  connectionOpcode,
  idOf,
  Nullish,
  Quality,
  Secret,
  Snowflake,
  STREAMS_MAX,
  Word,
} from './opcode.ts';

const Offered = Type.Object({ type: Word, rid: Nullish(Word), quality: Nullish(Quality) });

const Identify = Type.Object({
  server_id: Snowflake,
  user_id: Snowflake,
  session_id: Secret,
  token: Secret,
  max_dave_protocol_version: Nullish(Type.Integer({ minimum: 0, maximum: 0xffff })),
  video: Nullish(Type.Boolean()),
  streams: Nullish(Type.Array(Offered, { maxItems: STREAMS_MAX })),
  channel_id: Nullish(Snowflake),
});

/** Quality of the only layer of a client that lists no layers. */
const FULL_QUALITY = 100;

/** Op 0. Version 9 requires `channel_id`; earlier versions do not have it. */
export const identify = connectionOpcode('unidentified', Identify, (connection, d) => {
  if (connection.version >= CHANNEL_VERSION && d.channel_id == null) return false;
  connection.identify({
    serverId: idOf(d.server_id),
    channelId: d.channel_id == null ? null : idOf(d.channel_id),
    userId: idOf(d.user_id),
    sessionId: d.session_id,
    token: d.token,
    maxDaveVersion: d.max_dave_protocol_version ?? 0,
    video: d.video ?? false,
    streams: (d.streams ?? []).map(({ type, rid, quality }) => ({
      type,
      rid: rid ?? String(FULL_QUALITY),
      quality: quality ?? FULL_QUALITY,
    })),
  });
  return true;
});
