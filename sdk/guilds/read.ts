import { isJson, type Json } from '../voice/wire.ts';

/** Fields of dispatches. Anything else than expected reads as empty. */
export const text = (value: unknown): string => (typeof value === 'string' ? value : '');
export const list = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isJson) : []);
