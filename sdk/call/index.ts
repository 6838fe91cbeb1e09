/** Calls in lobbies: the API for applications, and the interface to the client. */
export { Call } from './call.ts';
export { type Calls, createCalls } from './calls.ts';
export * from './enums.ts';
export type { VADThresholdSettings } from './gate.ts';
export type { CallHost } from './host.ts';
export * from './media.ts';
export type { CallInfoHandle, VoiceStateHandle } from './voicestates.ts';
