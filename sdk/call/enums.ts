/** Enumerations of calls, with the numbers of the original SDK. */
const nameIn = (table: Readonly<Record<string, number>>, value: number): string =>
  Object.keys(table).find((name) => table[name] === value) ?? `${value}`;

type ValueOf<T> = T[keyof T];

export const CallStatus = {
  Disconnected: 0,
  /** The client asked the gateway to join. */
  Joining: 1,
  /** The gateway answered; the client connects to the voice server. */
  Connecting: 2,
  /** The voice server sent READY; the media transport is being connected. */
  SignalingConnected: 3,
  /** Audio is connected. */
  Connected: 4,
  Reconnecting: 5,
  Disconnecting: 6,
} as const;
export type CallStatus = ValueOf<typeof CallStatus>;
export const callStatusToString = (status: CallStatus): string => nameIn(CallStatus, status);

/** Why a call ended that the application did not end. */
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
  /** Voice activity: audio above the threshold is sent. */
  MODE_VAD: 1,
  /** Push to talk: audio is sent while a key is held. */
  MODE_PTT: 2,
} as const;
export type AudioModeType = ValueOf<typeof AudioModeType>;
