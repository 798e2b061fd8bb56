# frozen_string_literal: true

require_relative "../backend"
require_relative "../clock"
require_relative "../errors"
require_relative "../forks"
require_relative "../segment/notice"
require_relative "journal"

module Tiercel
  class Tiers < Backend
    # Notes the changes that the last tier did not receive, and settles them in the background: the last tier deletes
    # the frames under these keys, page by page. Until then no caller of this machine reads these keys from the last
    # tier.
    #
    # A thread of the process that noted a change settles it. The thread ends with the last key. {#wake} starts it in
    # any process: a caller that meets an unsettled key calls it, and so does the listener of the bus about once a
    # second, for a machine without traffic. The journal's term sees to it that one process settles at a time.
    #
    # @private
    class Settler
      # Pause after the last tier has refused to delete, or did not answer.
      PAUSE_SECONDS = 1.0

      # @param near [Near] in front of the last tier
      # @param last [Backend]
      # @param place [String] the URL of the last tier
      def initialize(near, last, place)
        @near = near
        @last = last
        @journal = Journal.new(near.path, place, near.backend.segment)
        @lock = Mutex.new
      end

      # @return [Boolean] whether any key is unsettled
      def pending? = @journal.pending?

      # @param keys [Array<String>] of changes that the last tier did not receive, or perhaps did not
      # @param kind [Integer] see {Journal#note}
      # @param late [Boolean] whether the change may still arrive
      # @return [void]
      def note(keys, kind = Journal::FRAME, late: false)
        @journal.note(keys, kind, late:) ? @full = false : overflow
        wake
      end

      # @param keys [Array<String>]
      # @return [Array<String>] those that nobody of this machine may read from the last tier
      def unsettled(keys)
        return [] unless @journal.pending?
        wake
        keys.select { |key| @journal.include?(key) }
      end

      # Starts the thread if any key is unsettled. Cheap, and never waits.
      #
      # @return [void]
      def wake
        return if running? || !@journal.pending? || !@lock.try_lock
        begin
          start unless running?
        ensure
          @lock.unlock
        end
      end

      # Settles a page, if one is due and no other process settles.
      #
      # @return [Float, nil] seconds until the next step; nil if no key is unsettled
      def step
        @left = false
        wait = @journal.settle { |page| settle(page) }
        @left ? PAUSE_SECONDS : wait
      rescue BackendError
        PAUSE_SECONDS
      end

      # @return [void]
      def close
        thread = @thread if Forks.current?(@process)
        thread.kill.join(1) if thread && !Thread.current.equal?(thread)
      end

      private

      def running? = Forks.current?(@process) && @thread&.alive?

      # Fiber storage is not inherited: the thread has nothing to do with its caller.
      def start
        @process = Forks.current
        Fiber.new(storage: {}) do
          @thread = Thread.new { run }
          @thread.name = "tiercel journal"
          @thread.thread_variable_set(:fork_safe, true) # Puma warns of others when it forks its workers
          @thread.report_on_exception = false
        end.resume
      end

      def run
        loop do
          while (seconds = step)
            sleep(seconds) if seconds.positive?
          end
          @lock.synchronize do
            @thread = nil # first: a note that comes after the next line starts another thread
            return unless @journal.pending?
            @thread = Thread.current
          end
        end
      end

      # The near copies go after the frames. The keys that are left are noted again before the page is done.
      def settle(page)
        report_lost if page.damaged
        failed = @last.delete_frames(page.frames).merge(delete(page.generations))
        failed.reject! { |_, error| error.is_a?(Refused) && error.forbidden } # for ever: they are dropped
        raise failed.each_value.first if failed.any? && failed.size == page.frames.size + page.generations.size
        @near.forget(page.frames + page.generations - failed.keys)
        @left ||= failed.any?
        { page.frames => Journal::FRAME, page.generations => Journal::GENERATION }.each do |keys, kind|
          left = keys & failed.keys
          @journal.note(left, kind) if left.any?
        end
      end

      # @return [Hash{String => BackendError}] as {Backend#delete_frames}
      def delete(generations)
        generations.each_with_object({}) do |key, failed|
          @last.delete(key)
        rescue BackendError => error
          failed[key] = error
        end
      end

      def overflow
        report_lost unless @full
        @full = true
      end

      def report_lost
        @near.clear(nil)
        @near.guard.call(:settle) do
          raise Refused.new("the journal holds at most #{Journal::MOST_BYTES >> 20} MB of keys that it has to delete " \
                            "there, and has lost some: old values of them may be read until they expire",
                            backend: @last.to_s)
        end
      end
    end
  end
end
