# frozen_string_literal: true

require_relative "../../clock"

module Tiercel
  class Tiers < Backend
    class Journal
      # The notes of one process, in memory. See {Ring} for the methods.
      #
      # @private
      class Own
        Note = Struct.new(:kind, :at)
        private_constant :Note

        def initialize(delay)
          @delay = delay
          @lock = Mutex.new
          @settling = Mutex.new
          @notes = {}
          @bytes = 0
        end

        def pending? = !@notes.empty?

        def include?(key) = @notes.key?(key)

        def note(keys, kind)
          at = Clock.monotonic
          @lock.synchronize do
            bytes = keys.sum { |key| @notes.key?(key) ? 0 : key.bytesize }
            next false if @bytes + bytes > MOST_BYTES
            @bytes += bytes
            keys.each do |key|
              @notes.delete(key) # a key that is noted again is settled last
              @notes[key] = Note.new(kind, at)
            end
            true
          end
        end

        def settle
          return unless pending?
          return BUSY_SECONDS unless @settling.try_lock
          begin
            due = @lock.synchronize { due_notes }
            return @notes.first&.then { |_, note| note.at + @delay - Clock.monotonic } if due.empty?
            generations, frames = due.keys.partition { |key| due[key].kind == GENERATION }
            yield Page.new(frames, generations, false)
            remove(due)
            pending? ? 0.0 : nil
          ensure
            @settling.unlock
          end
        end

        private

        def due_notes
          now = Clock.monotonic
          @notes.first(PAGE).take_while { |_, note| note.at + @delay <= now }.to_h
        end

        # A key that was noted again while its page was settled has another note.
        def remove(settled)
          @lock.synchronize do
            settled.each do |key, note|
              @bytes -= @notes.delete(key) ? key.bytesize : 0 if @notes[key].equal?(note)
            end
          end
        end
      end
    end
  end
end
