# frozen_string_literal: true

# Explores every interleaving of a few calls on one key of a segment, at the
# grain of one load, store or compare-and-swap, with and without a kill.
#
# A call is Ruby code run in a Fiber that stops before each `atomically`. What a
# call does next depends only on what its steps returned so far, so a state is
# the shared memory and those returns; states that were seen are not explored
# again. Orders that weak memory allows on top are argued in docs/memory-model.md.
class ProtocolModel
  # One call under way.
  class Call
    # @return [Array] what its steps returned, in order
    attr_reader :seen
    # @return [Object] its answer, once it is over
    attr_reader :answer

    def initialize(memory, body)
      @memory = memory
      @seen = []
      @fiber = Fiber.new { finish(instance_exec(memory, &body)) }
      @fiber.resume
    end

    # One step of the machine.
    def atomically
      Fiber.yield
      yield.tap { |value| @seen << value }
    end

    # A step that is only possible while the block gives something truthy.
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

  # @return [Integer] different states that were seen
  attr_reader :states

  # @param memory [Proc] makes the shared memory as it is at the beginning
  # @param calls [Hash{Symbol => Proc}] code by name, run with the memory
  # @param mortal [Symbol, nil] the call that may be killed between any two steps
  def initialize(memory, calls, mortal: nil)
    @memory = memory
    @calls = calls
    @mortal = mortal
  end

  # @yieldparam memory [Object] at the end of an interleaving
  # @yieldparam calls [Hash{Symbol => Call}]
  # @yieldreturn [String, nil] what is wrong
  # @return [String, nil] what is wrong, and after which steps; nil if nothing ever is
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
