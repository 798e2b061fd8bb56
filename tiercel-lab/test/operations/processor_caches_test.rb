# frozen_string_literal: true

require_relative "../support/lab_case"

class ProcessorCachesTest < LabCase
  Operations = Lab::Operations
  Caches = Operations::ProcessorCaches

  # An arm with 300 names.
  def arm(name)
    value = Lab::Values::ManyTexts.new(count: 300)
    context = Lab::Engine::Context.new(servers: {}, folders: {}, label: "test")
    arm = Lab::Engine::Arm.new(id: 1, contestant: Lab::Contestants.parse("memory_store"), value:, prefix: "test",
                               values: value.generate(1).each(&:freeze), operation: Operations.fetch(name), context:)
    arm.prepare
    yield arm, value
  ensure
    Operations.fetch(name).leave
  end

  def test_the_caches_are_evicted_once_before_the_calls_of_a_slice
    arm("read_cpu_cold") do |arm, value|
      calls = arm.operation.most_calls(value)
      evictions = count_evictions { arm.operation.before_slice(arm, calls); arm.run(calls) }
      assert_equal [100, 1], [calls, evictions]
      assert_equal 0, count_evictions { arm.operation.before_slice(arm, 1) }
    end
  end

  def test_a_slice_asks_for_other_names_each_time_and_for_none_twice
    %w[read_cpu_cold fetch_cpu_cold read_multi_cpu_cold].each do |name|
      arm(name) do |arm, value|
        slices = Array.new(2) do
          arm.operation.before_slice(arm, arm.operation.most_calls(value))
          arm.inputs.flatten
        end
        refute_equal(*slices, name)
        slices.each { |names| assert_equal names.uniq, names, name }
      end
    end
  end

  # In a slice of few calls, collection would be most of the time.
  def test_garbage_is_collected_before_a_slice_and_not_in_it
    arm("fetch_cpu_cold") do |arm, _value|
      arm.operation.before_slice(arm, 100)
      before = GC.count
      arm.run(100)
      assert GC.disable
      assert_equal before, GC.count
    end
    refute GC.enable
  end

  # Cold reads must touch memory outside of all caches, so `evict` reads more bytes than this machine's caches hold.
  def test_more_is_read_than_the_largest_cache_holds
    largest = Dir[Caches::SIZES].map { |path| File.read(path).to_i * 1024 }.max.to_i
    assert_operator Caches.bytes, :>=, [[largest, 64 << 20].min, 32 << 20].max
  end

  private

  # Counts the calls of `evict`, which still runs.
  def count_evictions(&)
    count = 0
    watch = TracePoint.new(:call) { |call| count += 1 if call.method_id == :evict && call.self.equal?(Caches) }
    watch.enable(&)
    count
  end
end
