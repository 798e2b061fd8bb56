# frozen_string_literal: true

require "active_support/notifications"

module Tiercel
  module Store
    module FastPath
      # Detects patches of the methods that the fast path bypasses: methods of ActiveSupport::Cache::Store and its
      # subclasses, and the parts of ActiveSupport::Notifications that send events. APM agents install such patches,
      # sometimes long after the application has booted. Ruby calls a hook of the class when a method is defined, and
      # {Noticing} detects a module that is prepended or included. So calls need no check, and no patch is detected too
      # late.
      # @private
      module Patches
        NOTIFIER = ActiveSupport::Notifications::Fanout
        SUBSCRIBER = NOTIFIER::Subscribers::Evented
        # Whether the notifier has the method that {NoticingSubscriptions} extends.
        REPORTS_SUBSCRIPTIONS = NOTIFIER.method_defined?(:clear_cache)
        private_constant :NOTIFIER, :SUBSCRIBER, :REPORTS_SUBSCRIPTIONS

        @stores = ObjectSpace::WeakMap.new

        class << self
          # @param store [ActiveSupport::Cache::TiercelStore]
          # @return [void]
          def watch(store) = @stores[store] = true

          # Checks every store again.
          #
          # @return [void]
          def recheck = @stores.keys.each { |store| store.check_fast_path }

          # @param name [Symbol] name of a method that was defined or removed
          # @return [nil]
          def changed(name)
            recheck if watched.any? { |_, names, _| names.include?(name) }
            nil
          end

          # Extends Rails' classes so that they report changes from now on.
          #
          # @return [void]
          def notice
            watched.each { |owner, _, _| owner.extend(Noticing) }
            ActiveSupport::Cache::WriteOptions.extend(NoticingAll)
            ActiveSupport::Notifications.extend(NoticingSingletons)
            ActiveSupport::Notifications.singleton_class.prepend(NoticingNotifier)
            NOTIFIER.prepend(NoticingSubscriptions) if REPORTS_SUBSCRIPTIONS
          end

          # @return [Array<Symbol>] the patched methods of Rails' stores
          def of_stores
            owner, names, witness = stores
            names.reject { |name| original?(owner, name, witness) }
          end

          # @return [Boolean] whether events pass through nothing but Rails' own code
          def events_untouched?
            events.all? { |owner, names, witness| names.all? { |name| original?(owner, name, witness) } } &&
              ActiveSupport::Notifications.notifier.instance_of?(NOTIFIER) && REPORTS_SUBSCRIPTIONS &&
              %i[group_class delegate silenceable].all? { |name| SUBSCRIBER.method_defined?(name) }
          end

          private

          # Classes with the names of their methods, and with a witness: a method that no patch replaces. An original
          # method lies in the same file as the witness.
          def watched = [stores, *events]

          def stores
            @stores_methods ||= [ActiveSupport::Cache::Store, Conditions::FRONTS + Conditions::HOOKS, :initialize]
          end

          def events
            notifications = ActiveSupport::Notifications
            @events ||= [
              [ActiveSupport::Cache::Store, Conditions::INSTRUMENTS, :initialize],
              [notifications.singleton_class, %i[instrument], :publish],
              [notifications::Instrumenter, %i[instrument], :initialize],
              [notifications::Fanout, %i[build_handle groups_for all_listeners_for], :initialize],
              [notifications::Fanout::Handle, %i[start finish finish_with_values], :initialize],
              # A change of a group's superclass is reported by the hook of BaseGroup.
              [notifications::Fanout::BaseGroup, %i[each], :initialize],
              [notifications::Fanout::TimedGroup, %i[start finish each now], :initialize],
            ].freeze
          end

          def original?(owner, name, witness)
            return true unless owner.method_defined?(name) || owner.private_method_defined?(name)
            file = owner.instance_method(witness).source_location&.first
            owner.instance_method(name).source_location&.first == file
          end
        end

        # Extends a class: reports modules that are prepended or included, and methods that are defined or removed.
        # Subclasses, and the singleton classes of their instances, inherit these hooks.
        module Noticing
          # See Module#prepend.
          def prepend(*) = super.tap { Patches.recheck }

          # See Module#include.
          def include(*) = super.tap { Patches.recheck }

          private

          def method_added(name) = Patches.changed(name) || super
          def method_removed(name) = Patches.changed(name) || super
          def method_undefined(name) = Patches.changed(name) || super
        end

        # Like {Noticing}, but reports every method that is defined, whatever its name.
        module NoticingAll
          include Noticing

          private

          def method_added(name) = super.tap { Patches.recheck }
        end

        # Extends an object: reports changes of its singleton methods.
        module NoticingSingletons
          private

          def singleton_method_added(name) = Patches.changed(name) || super
          def singleton_method_removed(name) = Patches.changed(name) || super
          def singleton_method_undefined(name) = Patches.changed(name) || super
        end

        # For ActiveSupport::Notifications: reports that its notifier was replaced. The new notifier may be of any
        # class.
        module NoticingNotifier
          # @param notifier [Object]
          def notifier=(notifier)
            super.tap do
              Events::SUBSCRIPTIONS.forget
              Patches.recheck
            end
          end
        end

        # For the notifier: reports that subscriptions have changed. The notifier itself then forgets the subscribers of
        # each event. Rails 8.2 has a notifier in each Ractor, and stores are in the main one.
        module NoticingSubscriptions
          # See ActiveSupport::Notifications::Fanout#clear_cache.
          def clear_cache(*)
            super.tap { Events::SUBSCRIPTIONS.forget if Ractor.current == Ractor.main }
          end
        end
      end
    end
  end
end
