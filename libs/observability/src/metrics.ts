/** The metric table brought to life: one set per program, typed by the table. */
import { createRequire } from 'node:module';
import { assertNever } from '@tidemark/keyspace';
import type { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { type MetricDefinition, type MetricTable, metricTable } from './metric-table.ts';

type LabelValue<Definition> = Definition extends { readonly label: { readonly values: readonly (infer Value)[] } }
  ? [label: Value]
  : [];

interface CounterMetric<Label extends readonly unknown[]> {
  add(count: number | bigint, ...label: Label): void;
}

interface GaugeMetric<Label extends readonly unknown[]> {
  /** Undefined = unknown: the series is absent, never -1 or NaN. */
  set(value: number | bigint | undefined, ...label: Label): void;
}

interface HistogramMetric<Label extends readonly unknown[]> {
  observe(seconds: number, ...label: Label): void;
}

type MetricOf<Definition extends MetricDefinition> = Definition['kind'] extends 'counter'
  ? CounterMetric<LabelValue<Definition>>
  : Definition['kind'] extends 'gauge'
    ? GaugeMetric<LabelValue<Definition>>
    : HistogramMetric<LabelValue<Definition>>;

type AnyMetric =
  | CounterMetric<readonly unknown[]>
  | GaugeMetric<readonly unknown[]>
  | HistogramMetric<readonly unknown[]>;

export type Metrics = { readonly [Name in keyof MetricTable]: MetricOf<MetricTable[Name]> };

export interface MetricSet {
  readonly metrics: Metrics;
  /** The page in Prometheus' text format. */
  render(): Promise<{ readonly contentType: string; readonly page: string }>;
}

export interface MetricSetOptions {
  readonly program: string;
  /** Memory, garbage collection and event-loop lag of this process; one set per process should have it. */
  readonly withProcess?: boolean;
}

type Client = typeof import('prom-client');

/** Loaded at the first need: commands that serve no metrics start without it. */
function loadClient(): Client {
  return createRequire(import.meta.url)('prom-client') as Client;
}

export function createMetricSet(options: MetricSetOptions): MetricSet {
  const client = loadClient();
  const registry = new client.Registry();
  registry.setDefaultLabels({ program: options.program });
  if (options.withProcess) client.collectDefaultMetrics({ register: registry });
  const made = Object.entries(metricTable).map(
    ([name, definition]) => [name, makeMetric(client, registry, definition)] as const,
  );
  return {
    // Object.fromEntries forgets which key has which value; both come from one row of the table.
    metrics: Object.fromEntries(made) as Metrics,
    render: async () => ({ contentType: registry.contentType, page: await registry.metrics() }),
  };
}

function makeMetric(client: Client, registry: Registry, definition: MetricDefinition): AnyMetric {
  const options = {
    name: definition.name,
    help: definition.help,
    labelNames: definition.label === undefined ? [] : [definition.label.name],
    registers: [registry],
  };
  switch (definition.kind) {
    case 'counter':
      return counterOf(definition, new client.Counter(options));
    case 'gauge':
      return gaugeOf(definition, new client.Gauge(options));
    case 'histogram':
      return histogramOf(definition, new client.Histogram({ ...options, buckets: [...(definition.buckets ?? [])] }));
    default:
      return assertNever(definition.kind);
  }
}

function counterOf(definition: MetricDefinition, counter: Counter): CounterMetric<readonly unknown[]> {
  for (const labels of everySeries(definition)) counter.inc(labels, 0);
  return { add: (count, ...label) => counter.inc(labelsOf(definition, label), Number(count)) };
}

function gaugeOf(definition: MetricDefinition, gauge: Gauge): GaugeMetric<readonly unknown[]> {
  // A gauge without labels would show 0 before anybody knows the value.
  if (definition.label === undefined) gauge.remove({});
  return {
    set(value, ...label) {
      const labels = labelsOf(definition, label);
      const known = value === undefined ? Number.NaN : Number(value);
      if (Number.isFinite(known)) gauge.set(labels, known);
      else gauge.remove(labels);
    },
  };
}

function histogramOf(definition: MetricDefinition, histogram: Histogram): HistogramMetric<readonly unknown[]> {
  return { observe: (seconds, ...label) => histogram.observe(labelsOf(definition, label), seconds) };
}

type Labels = Record<string, string>;

/** A counter that begins at 0 shows its first increase; one that appears with it does not. */
function everySeries(definition: MetricDefinition): readonly Labels[] {
  const { label } = definition;
  return label === undefined ? [{}] : label.values.map((value) => ({ [label.name]: value }));
}

function labelsOf(definition: MetricDefinition, label: readonly unknown[]): Labels {
  return definition.label === undefined ? {} : { [definition.label.name]: String(label[0]) };
}
