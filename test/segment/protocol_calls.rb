# frozen_string_literal: true

# The calls of the segment's protocol on one key, for {ProtocolModel}.
module ProtocolCalls
  # A ring of two entries, one slot, and their control words. A value has two words, so that a torn read is visible.
  class Memory
    CELLS = 2
    Cell = Struct.new(:key, :sequence, :low, :high, :epoch)

    attr_accessor :slot, :tail, :head, :epoch, :stripe, :deletes, :lock

    def initialize
      @cells = Array.new(CELLS) { Cell.new(:none, 0, 0, 0, 0) }
      @slot = @epoch = @stripe = @deletes = 0
      @head = @tail = CELLS
    end

    def [](word) = public_send(word)

    def at(position) = @cells[position % CELLS]

    def put(key, value)
      at(@head).then { |cell| cell.key, cell.sequence, cell.low, cell.high = key, 0, value, value }
      @slot = @head if key == :mine
      @head += 1
      self
    end

    def compare_and_swap(expected, desired)
      return false unless @slot == expected
      @slot = desired
      true
    end

    def to_a = [@slot, @tail, @head, @epoch, @stripe, @deletes, @lock, @cells.map(&:to_a)]
  end

  # The calls. `broken` names the rule that is omitted.
  module Calls
    module_function

    def locked(&body)
      proc do |memory|
        atomically_once(-> { memory.lock.nil? }) { memory.lock = true }
        instance_exec(memory, &body).tap { atomically { memory.lock = nil } }
      end
    end

    # A write of another key: it frees space at the tail, whatever entry is there, and overwrites its bytes.
    def overwrite
      locked do |memory|
        position = memory.head
        atomically { memory.tail += 1 }
        %i[key low high].each { |field| atomically { memory.at(position)[field] = :other } }
        atomically { memory.head += 1 }
      end
    end

    # A set that appends. It replaces the entry of an occupied slot, and occupies an empty slot.
    def set(value, broken: nil)
      proc do |memory|
        epoch = atomically { memory.epoch } if broken == :loads_the_epoch_before_the_lock
        instance_exec(memory, &Calls.locked do
          epoch ||= atomically { memory.epoch }
          position = memory.head
          atomically { memory.tail += 1 } if position - memory.tail == Memory::CELLS
          { key: :mine, sequence: 0, low: value, high: value, epoch: epoch }.each do |field, content|
            atomically { memory.at(position)[field] = content }
          end
          atomically { memory.head += 1 }
          loop do
            word = atomically { memory.slot }
            break if atomically { memory.compare_and_swap(word, position) }
          end
        end)
      end
    end

    # compare_and_set, touch and increment change a slot only if it still has the word that was read, and never an
    # empty slot.
    def change(value, broken: nil)
      locked do |memory|
        word = atomically { memory.slot }
        next :gone if word.zero?
        position = memory.head
        atomically { memory.tail += 1 } if position - memory.tail == Memory::CELLS
        { key: :mine, sequence: 0, low: value, high: value }.each do |field, content|
          atomically { memory.at(position)[field] = content }
        end
        atomically { memory.head += 1 }
        next atomically { memory.slot = position } && :changed if broken == :blind_store
        atomically { memory.compare_and_swap(word, position) } ? :changed : :gone
      end
    end

    def change_in_place(value, broken: nil)
      locked do |memory|
        word = atomically { memory.slot }
        next :gone if word.zero?
        cell = memory.at(word)
        atomically { cell.sequence += 1 } unless broken == :no_sequence
        atomically { cell.low = value }
        atomically { cell.high = value }
        atomically { cell.sequence += 1 } unless broken == :no_sequence
        :changed
      end
    end

    # The tail has reached the key's entry, which has many hits: its bytes are freed, then copied to the head.
    def reappend(broken: nil)
      locked do |memory|
        word = atomically { memory.slot }
        next :gone if word.zero? || word != memory.tail
        copy = memory.at(word).dup
        atomically { memory.tail += 1 }
        position = memory.head
        copy.members.each { |field| atomically { memory.at(position)[field] = copy[field] } }
        atomically { memory.head += 1 }
        next atomically { memory.slot = position } if broken == :blind_store
        atomically { memory.compare_and_swap(word, position) }
      end
    end

    def delete(broken: nil)
      proc do |memory|
        loop do
          word = atomically { memory.slot }
          break false if word.zero?
          same = atomically { memory.at(word).key == :mine }
          passed = atomically { word < memory.tail }
          break false if broken == :trusts_only_what_it_verified && passed
          break false if !same && !passed
          break true if atomically { memory.compare_and_swap(word, 0) }
          break false if broken == :gives_up
        end
      end
    end

    # No read may ever return this: halves of two values, or another key's value.
    Garbage = Struct.new(:key, :low, :high)

    # Returns the value, nil for a miss, or Garbage if the protocol fails.
    def read(broken: nil)
      proc do |memory|
        answer = nil
        2.times do
          epoch = atomically { memory.epoch }
          word = atomically { memory.slot }
          break if word.zero?
          cell = memory.at(word)
          key = atomically { cell.key }
          sequence = atomically { cell.sequence }
          low = atomically { cell.low }
          high = atomically { cell.high }
          of = atomically { cell.epoch }
          valid = broken == :ignores_tail || atomically { word >= memory.tail }
          valid &&= broken == :ignores_sequence || (sequence.even? && atomically { cell.sequence } == sequence)
          next unless valid
          break unless of == epoch && (key == :mine || broken == :ignores_tail)
          answer = low == high && key == :mine ? low : Garbage.new(key, low, high)
          break
        end
        answer
      end
    end

    def clear(broken: nil)
      proc do |memory|
        atomically { memory.epoch += 1 } unless broken == :never_raises_the_epoch
        loop do
          word = atomically { memory.slot }
          break if word.zero? || atomically { memory.compare_and_swap(word, 0) }
        end
      end
    end

    # `watched`: the word that an invalidation changes before it deletes.
    def near_fill(value, broken: nil, watched: :stripe)
      proc do |memory|
        before = atomically { memory[watched] }
        fetched = atomically { value }
        instance_exec(memory, &Calls.locked do
          next if broken == :checks_then_publishes && atomically { memory[watched] } != before
          position = memory.head
          odd = broken == :checks_then_publishes ? 0 : 1
          { key: :mine, sequence: odd, low: fetched, high: fetched, epoch: 0 }.each do |field, content|
            atomically { memory.at(position)[field] = content }
          end
          atomically { memory.head += 1 }
          atomically { memory.slot = position }
          next if broken == :checks_then_publishes
          if broken == :publishes_readable
            atomically { memory.at(position).sequence = 2 }
            atomically { memory.compare_and_swap(position, 0) } if atomically { memory[watched] } != before
          elsif atomically { memory[watched] } == before
            atomically { memory.at(position).sequence = 2 }
          else
            atomically { memory.compare_and_swap(position, 0) }
          end
        end)
      end
    end

    def near_invalidate
      proc do |memory|
        atomically { memory.stripe += 1 }
        instance_exec(memory, &Calls.delete)
      end
    end

    # Stores a value that was computed without a lease, because the table was full.
    def unheld_fill(value, broken: nil) = near_fill(value, broken:, watched: :deletes)

    # A delete increments its counter, then empties the slot.
    def counted_delete(broken: nil)
      proc do |memory|
        atomically { memory.deletes += 1 } unless broken == :counts_afterwards
        instance_exec(memory, &Calls.delete)
        atomically { memory.deletes += 1 } if broken == :counts_afterwards
      end
    end

    def in_turn(*bodies)
      proc { |memory| bodies.map { |body| instance_exec(memory, &body) } }
    end
  end
end
