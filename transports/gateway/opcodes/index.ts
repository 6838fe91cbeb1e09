import { OP, USER_OPS } from '../../../protocol/opcodes.ts';
import { requestChannelInfo } from './channelinfo.ts';
import { heartbeat } from './heartbeat.ts';
import { identify } from './identify.ts';
import { lobbyVoiceServerPing } from './lobbyvoiceserverping.ts';
import { lobbyVoiceStates } from './lobbyvoicestates.ts';
import type { Opcode } from './opcode.ts';
import { presenceUpdate } from './presenceupdate.ts';
import { requestMembers } from './requestmembers.ts';
import { resume } from './resume.ts';
import { requestSoundboardSounds } from './soundboard.ts';
import { streamCreate } from './streamcreate.ts';
import { streamDelete } from './streamdelete.ts';
import { streamPing } from './streamping.ts';
import { streamSetPaused } from './streamsetpaused.ts';
import { streamWatch } from './streamwatch.ts';
import { voiceState } from './voicestate.ts';

/** Opcodes that every client may send. */
export const OPCODES: ReadonlyMap<unknown, Opcode> = new Map([
  [OP.HEARTBEAT, heartbeat],
  [OP.IDENTIFY, identify],
  [OP.PRESENCE_UPDATE, presenceUpdate],
  [OP.VOICE_STATE_UPDATE, voiceState],
  [OP.RESUME, resume],
  [OP.REQUEST_GUILD_MEMBERS, requestMembers],
  [OP.REQUEST_SOUNDBOARD_SOUNDS, requestSoundboardSounds],
  [OP.REQUEST_CHANNEL_INFO, requestChannelInfo],
]);

/** Opcodes that only people's sessions may send. */
export const USER_OPCODES: ReadonlyMap<unknown, Opcode> = new Map([
  [OP.LOBBY_VOICE_STATES, lobbyVoiceStates],
  [OP.STREAM_CREATE, streamCreate],
  [OP.STREAM_DELETE, streamDelete],
  [OP.STREAM_WATCH, streamWatch],
  [OP.STREAM_PING, streamPing],
  [OP.STREAM_SET_PAUSED, streamSetPaused],
  [OP.LOBBY_VOICE_SERVER_PING, lobbyVoiceServerPing],
]);

/**
 * Looks up the handler of an opcode. `unknown`: close with 4001. `ignored`: a user's client sends it, and this server does not
 * serve it.
 *
 * @param ofUser Whether the connection has the session of a person.
 */
export const opcodeOf = (op: unknown, ofUser: boolean): Opcode | 'ignored' | 'unknown' =>
  OPCODES.get(op) ?? (ofUser && isUserOp(op) ? (USER_OPCODES.get(op) ?? 'ignored') : 'unknown');

const isUserOp = (op: unknown): boolean => typeof op === 'number' && USER_OPS.has(op);
