# frozen_string_literal: true

# Knows the notifier that has no subscriber to any event of a store. Asking Rails' notifier takes a tenth of a read of
# shared memory, so the answer is kept until a subscription changes.
#
# Rails announces no change, but Ruby does: a TracePoint on the notifier's `subscribe` and `unsubscribe` alone. The
# TracePoint replaces no method, and no other method gets slower. The TracePoint cannot see a call from a handler of
# another TracePoint, as in a debugger's prompt: such a subscription receives events after the next change.
#
# @private
class Tiercel::Store::Subscriptions
  NOTIFIER = ActiveSupport::Notifications::Fanout
  # unheard: the notifier without subscribers; nil if it has some, or has to be asked.
  Answer = Struct.new(:unheard)
  private_constant :NOTIFIER, :Answer

  # @return [Answer] the current answer. A change of subscriptions replaces this object, so a caller that asked before
  #   the change writes into the old one, which nobody reads any more
  attr_reader :answer

  # @param events [Array<String>] the names of all events of a store
  def initialize(events)
    @events = events
    @answer = Answer.new
    @methods = %i[subscribe unsubscribe].to_h { |name| [name, NOTIFIER.instance_method(name)] }
    @traces = @methods.values.map do |method|
      TracePoint.new(:return) { @answer = Answer.new }.tap { |trace| trace.enable(target: method) }
    end
  end

  # @param answer [Answer] the {#answer} before the caller asked the notifier about one event
  # @return [false] keeps the answer if no other event has subscribers either, and changes can be seen
  def none(notifier, answer)
    answer.unheard = notifier if traced?(notifier) && @events.all? { |name| notifier.all_listeners_for(name).empty? }
    false
  end

  private

  # Returns whether the TracePoints see every change: other code may have overridden `subscribe` or `unsubscribe`.
  def traced?(notifier)
    notifier.instance_of?(NOTIFIER) && @methods.all? { |name, method| notifier.method(name).unbind == method }
  end
end
