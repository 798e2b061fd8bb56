# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "tiercel/backends/file"

class FileRecordTest < Tiercel::TestCase
  Record = Tiercel::Backends::File::Record

  # As a network file system answers where another machine replaced the file since it was opened.
  module Stale
    class << self
      attr_accessor :times
    end

    private

    def parse(...)
      return super if (Stale.times -= 1).negative?
      raise Errno::ESTALE
    end
  end

  def test_a_stale_file_is_opened_again
    with_tmpdir do |directory|
      path = File.join(directory, "record")
      File.binwrite(path, Record.head("key", "value", nil, 7) + "value")
      answers = fork_and_wait(1) do
        Record.singleton_class.prepend(Stale)
        [0, 2, 3].map { |times| read_after(times, path) }
      end.first
      assert_equal ["value", "value", "Errno::ESTALE"], answers
    end
  end

  private

  def read_after(times, path)
    Stale.times = times
    Record.read(path).bytes
  rescue Errno::ESTALE => error
    error.class.name
  end
end
