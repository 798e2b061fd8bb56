<?php
// The part of `rake peers` that APCu plays: see rakelib/peers.rake. Prints a line for each case: its name, and
// nanoseconds of the processor's time a call.

function cpu_ns(): float {
    $usage = getrusage();
    return ($usage['ru_utime.tv_sec'] + $usage['ru_stime.tv_sec']) * 1e9
        + ($usage['ru_utime.tv_usec'] + $usage['ru_stime.tv_usec']) * 1e3;
}

function measure(string $name, array $values, float $seconds): void {
    $names = [];
    foreach ($values as $index => $value) {
        $names[] = $key = sprintf('peers:%s:%06d', $name, $index);
        if (!apcu_store($key, $value)) exit("APCu refused $key\n");
    }
    mt_srand(1);
    shuffle($names);
    $count = count($names);
    $call = function (int $calls) use ($names, $count) {
        for ($i = 0, $at = 0; $i < $calls; $i++) {
            if (apcu_fetch($names[$at]) === false) exit("missing: {$names[$at]}\n");
            if (++$at === $count) $at = 0;
        }
    };
    $call(max($count, 1000));
    for ($calls = 1000; ; $calls *= 2) {
        $began = cpu_ns();
        $call($calls);
        $ns = cpu_ns() - $began;
        if ($ns >= $seconds * 1e9) break;
    }
    printf("%s %.1f\n", $name, $ns / $calls);
}

function row(int $index): array {
    return ['id' => $index, 'name' => "Product $index", 'price' => $index * 1.25, 'available' => $index % 3 === 0,
            'description' => str_repeat('word ', 20)];
}

$seconds = (float) ($argv[1] ?? 0.2);
measure('string-1kb', array_map(fn ($i) => str_pad("$i:", 1024, 'x'), range(0, 99)), $seconds);
measure('string-24kb', array_map(fn ($i) => str_pad("$i:", 24576, 'x'), range(0, 99)), $seconds);
measure('rows-50', array_map(fn ($i) => array_map('row', range($i, $i + 49)), range(0, 99)), $seconds);
measure('string-1kb-20000', array_map(fn ($i) => str_pad("$i:", 1024, 'x'), range(0, 19999)), $seconds);
