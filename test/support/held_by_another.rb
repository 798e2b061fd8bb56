# frozen_string_literal: true

# Another process that holds a resource.
module HeldByAnother
  # @param hold [#call] acquires the resource in the other process, which keeps the returned object
  # @yield while the resource is held
  # @return [Object] the block's value
  def self.while(hold)
    ready, done = IO.pipe, IO.pipe
    pid = fork do
      kept = hold.call
      ready.last.write("x")
      done.first.read(1)
      exit!(!kept.nil?)
    end
    ready.first.read(1)
    yield
  ensure
    done.last.write("x")
    Process.wait(pid)
    [*ready, *done].each(&:close)
  end
end
