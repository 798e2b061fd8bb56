# frozen_string_literal: true

# Runs a block in child processes and collects their results.
#
# A child ends with `exit!`, so it runs none of the parent's at_exit handlers, such as Minitest's.
class ForkedChildren
  # The result of one child: the block's value, or the text of its failure.
  Outcome = Struct.new(:index, :value, :failure)

  # @param count [Integer]
  # @param within [Numeric] seconds after which remaining children are killed
  def initialize(count, within:, &block)
    @count = count
    @within = within
    @block = block
  end

  # @return [Array<Outcome>] in the order of the indexes
  def run
    $stdout.flush
    $stderr.flush
    children = @count.times.map { |index| [index, *start(index)] }
    deadline = now + @within
    children.map { |index, pid, pipe| finish(index, pid, pipe, deadline) }
  end

  private

  def start(index)
    reader, writer = IO.pipe(binmode: true)
    pid = fork do
      reader.close
      run_block(index, writer)
    end
    writer.close
    [pid, reader]
  end

  def run_block(index, writer)
    value = @block.call(index)
    writer.write(dump([value, nil]))
    writer.flush
    exit!(true)
  rescue Exception => e # Minitest's assertions are not StandardErrors
    writer.write(dump([nil, e.full_message(highlight: false)]))
    writer.flush
    exit!(false)
  end

  def dump(outcome)
    Marshal.dump(outcome)
  rescue TypeError # Marshal cannot dump a value such as a Proc or a connection; the caller does not need it
    Marshal.dump([nil, outcome.last])
  end

  def finish(index, pid, pipe, deadline)
    bytes, in_time = read_all(pipe, deadline)
    Process.kill(:KILL, pid) unless in_time
    status = Process.wait2(pid).last
    return Outcome.new(index, nil, "still running after #{@within} s, killed") unless in_time
    return Outcome.new(index, nil, "ended without an answer: #{status.inspect}") if bytes.empty?
    Outcome.new(index, *Marshal.load(bytes))
  ensure
    pipe.close
  end

  # @return [Array(String, Boolean)] the child's output, and whether it closed its end in time
  def read_all(pipe, deadline)
    bytes = +"".b
    while (left = deadline - now).positive? && pipe.wait_readable(left)
      chunk = pipe.read_nonblock(65_536, exception: false)
      return [bytes, true] if chunk.nil?
      bytes << chunk unless chunk == :wait_readable
    end
    [bytes, false]
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
