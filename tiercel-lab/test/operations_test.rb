# frozen_string_literal: true

require_relative "support/lab_case"

# Every operation on a correct store, and on faulty stores.
class OperationsTest < LabCase
  def arm(text, operation, value: "string-1kb")
    contestant = Lab::Contestants.parse(text)
    operation = Lab::Operations.fetch(operation)
    value = Lab::Values.fetch(value)
    context = Lab::Engine::Context.new(servers: {}, folders: {}, label: "test",
                                       capacity_bytes: operation.capacity_bytes)
    arm = Lab::Engine::Arm.new(id: 1, contestant:, operation:, value:, values: value.generate(1).each(&:freeze),
                               prefix: "test", context:)
    operation.enter
    yield arm
  ensure
    operation&.leave
  end

  def test_every_operation_works_on_a_store_that_keeps_the_contract
    operations = Lab::Operations.all.select do |operation|
      operation.kind == :store && !operation.is_a?(Lab::Operations::SaysTheSame)
    end
    operations.map(&:name).each do |name|
      arm("tiercel:memory:", name) do |arm|
        arm.prepare
        arm.operation.before_slice(arm, 50) if arm.operation.prepared?
        arm.run(50)
        assert_nil arm.verify, name
      end
    end
  end

  # Stores divide their room. With little room, one of few large entries may find its part full.
  def test_there_is_room_for_all_that_is_written
    Lab::Values.all.each do |value|
      operation = Lab::Operations.fetch("read")
      context = Lab::Engine::Context.for(operation, value, servers: {}, folders: {}, label: "test")
      written = value.approximate_bytes * operation.names_for(value)
      assert_operator context.capacity_bytes, :>=, [6 * written, 64 << 20].max, value.name
    end
  end

  # A slice prepares an entry for each of its calls, so no call meets an entry that an earlier call deleted or read.
  def test_prepared_operations_have_a_name_for_each_call
    Lab::Operations.all.select { |operation| operation.kind == :store && operation.prepared? }.each do |operation|
      %w[string-1kb html-24kb-500 html-822kb].map { |name| Lab::Values.fetch(name) }.each do |value|
        assert_operator operation.names_for(value), :>=, operation.most_calls(value), operation.name
      end
    end
  end

  def test_wrong_values_are_found
    %w[read fetch write].each do |name|
      arm("planted_wrong", name) do |arm|
        arm.prepare
        assert_raises(Lab::WrongValue, name) { arm.verify } unless name == "fetch"
        assert_nil arm.verify if name == "fetch" # MemoryStore#fetch does not come by #read
      end
    end
  end

  def test_misses_are_found
    %w[read fetch read_multi exist].each do |name|
      arm("planted_forgetful", name) do |arm|
        arm.prepare
        assert_raises(Lab::Missed, name) { arm.verify }
      end
    end
  end

  def test_a_fetch_whose_block_ran_inside_the_timed_part_is_a_miss
    arm("memory_store", "fetch") do |arm|
      arm.prepare
      arm.run(5)
      arm.store.clear
      arm.run(arm.count)
      assert_match(/100 of the timed calls/, assert_raises(Lab::Missed) { arm.fill; arm.verify }.message)
    end
  end

  def test_objects_of_a_call_are_counted_exactly
    # Threads of other tests may allocate objects during a count, but not twice the same number.
    counts = Array.new(5) { arm("memory_store", "read") { |arm| arm.prepare; arm.run(100); arm.allocations } }
    count, times = counts.tally.max_by(&:last)
    assert_operator times, :>=, 2, counts.inspect
    assert_in_delta count.round, count # whole objects
    assert_includes Array.new(5) { arm("memory_store", "loop") { |arm| arm.prepare; arm.allocations } }, 0.0
  end

  # One object in a hundred calls is another thread's: -0.01 and 16.01 were printed as exact.
  def test_an_object_of_another_thread_is_none_of_a_call
    per_call = Lab::Engine::Arm.method(:per_call)
    assert_equal [0.0, 16.0, 21.0, 0.0, 20.5, 16.05],
                 [[-1, 100], [1_601, 100], [2_099, 100], [-1, 1], [2_050, 100], [1_605, 100]]
                   .map { |pair| per_call[*pair] }
  end

  def test_a_full_store_evicts
    arm("memory_store", "write_full") do |arm|
      arm.prepare
      assert_nil arm.verify
      assert_operator arm.count * 1024, :>, 2 * arm.operation.capacity_bytes
    end
    assert_match(/hundredth/, Lab::Operations.fetch("write_full").unsuitable(Lab::Values.fetch("html-822kb")))
  end
end
