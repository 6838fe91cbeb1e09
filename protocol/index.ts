/** Constants and types of the wire protocol: `import { OP, INTENTS } from 'guildhall/protocol'`. */
export * from './audit.ts';
export * from './capabilities.ts';
export * from './channeltypes.ts';
export * from './closecodes.ts';
export * from './components.ts';
export * from './dispatches.ts';
export * from './errors.ts';
export * from './ids.ts';
export * from './intents.ts';
export * from './limits.ts';
export * from './oauth.ts';
export * from './oautherrors.ts';
export * from './opcodes.ts';
export * from './permissions.ts';
export * from './refusal.ts';
export * from './scopes.ts';
