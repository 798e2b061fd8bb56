# frozen_string_literal: true

# Explores every interleaving of a few calls on one key of a segment, in steps of one load, store or compare-and-swap,
# with and without a killed call.
#
# A call is Ruby code in a Fiber that pauses before each `atomically`. Its next step depends only on the results of
# its earlier steps. So a state consists of the shared memory and those results, and known states are not explored
# again. memory-model.md discusses the additional orders of weak memory models.
class ProtocolModel
  # One call in progress.
  class Call
    # @return [Array] the results of its steps, in order
    attr_reader :seen
    # @return [Object] its result, once it has ended
    attr_reader :answer

    def initialize(memory, body)
      @memory = memory
      @seen = []
      @fiber = Fiber.new { finish(instance_exec(memory, &body)) }
      @fiber.resume
    end

    # One atomic step of the machine.
    def atomically
      Fiber.yield
      yield.tap { |value| @seen << value }
    end

    # A step that is possible only while the block returns a truthy value.
    def atomically_once(ready, &)
      @ready = ready
      atomically { @ready = nil; yield }
    end

    def step = @fiber.resume
    def over? = @over || @killed || false
    def killed? = @killed || false
    def blocked? = @ready && !@ready.call
    def kill = @killed = true

    private

    def finish(answer)
      @over = true
      @answer = answer
    end
  end

  # @return [Integer] number of distinct states
  attr_reader :states

  # @param memory [Proc] creates the initial shared memory
  # @param calls [Hash{Symbol => Proc}] code by name; it receives the memory
  # @param mortal [Symbol, nil] the call that may be killed between any two steps
  def initialize(memory, calls, mortal: nil)
    @memory = memory
    @calls = calls
    @mortal = mortal
  end

  # @yieldparam memory [Object] the memory at the end of an interleaving
  # @yieldparam calls [Hash{Symbol => Call}]
  # @yieldreturn [String, nil] the violation
  # @return [String, nil] the violation and the steps before it; nil if there is none
  def violation(&judge)
    @seen = {}
    @states = 0
    pending = [[]]
    while (schedule = pending.pop)
      memory, calls = replay(schedule)
      next if seen_before?(memory, calls)
      choices = choices(calls)
      wrong = choices.empty? && judge.call(memory, calls)
      return "#{wrong} after #{schedule.join(" ")}" if wrong
      choices.each { |choice| pending << (schedule + [choice]) }
    end
  end

  private

  def replay(schedule)
    memory = @memory.call
    calls = @calls.transform_values { |body| Call.new(memory, body) }
    schedule.each { |choice| choice == :kill ? calls[@mortal].kill : calls[choice].step }
    [memory, calls]
  end

  def seen_before?(memory, calls)
    key = [memory.to_a, calls.values.map { |call| [call.seen, call.killed?, call.over?] }].hash
    return true if @seen[key]
    @states += 1
    @seen[key] = true
    false
  end

  def choices(calls)
    running = calls.reject { |_, call| call.over? || call.blocked? }.keys
    @mortal && !calls[@mortal].over? ? running + [:kill] : running
  end
end
