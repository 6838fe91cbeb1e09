/** The numbers of calls, as the original library has them. */
const nameIn = (table: Readonly<Record<string, number>>, value: number): string =>
  Object.keys(table).find((name) => table[name] === value) ?? `${value}`;

type ValueOf<T> = T[keyof T];

export const CallStatus = {
  Disconnected: 0,
  /** The gateway was asked to let us in. */
  Joining: 1,
  /** It has, and the voice server is being reached. */
  Connecting: 2,
  /** The voice server knows us; the way for sound is being made. */
  SignalingConnected: 3,
  /** Sound can travel. */
  Connected: 4,
  Reconnecting: 5,
  Disconnecting: 6,
} as const;
export type CallStatus = ValueOf<typeof CallStatus>;
export const callStatusToString = (status: CallStatus): string => nameIn(CallStatus, status);

/** Why a call ended that was not asked to. */
export const CallError = {
  None: 0,
  SignalingConnectionFailed: 1,
  SignalingUnexpectedClose: 2,
  VoiceConnectionFailed: 3,
  JoinTimeout: 4,
  Forbidden: 5,
} as const;
export type CallError = ValueOf<typeof CallError>;
export const callErrorToString = (error: CallError): string => nameIn(CallError, error);

export const AudioModeType = {
  MODE_UNINIT: 0,
  /** Sent is what is loud enough. */
  MODE_VAD: 1,
  /** Sent is what is said while a key is held. */
  MODE_PTT: 2,
} as const;
export type AudioModeType = ValueOf<typeof AudioModeType>;
