# frozen_string_literal: true

# The process of a {Tiercel::Lab::Network::Proxy}. Its arguments: file descriptors of the listener and of the control
# socket, whether the listener is a Unix socket, and the target.
require_relative "../../lab"

trap("INT", "IGNORE") # Ctrl-C is for the parent; this process ends when the parent ends
listener_fd, control_fd, kind, *target = ARGV
listener = (kind == "unix" ? UNIXServer : TCPServer).for_fd(Integer(listener_fd))
control = UNIXSocket.for_fd(Integer(control_fd))
target = target.size == 1 ? [:unix, target.first] : [:tcp, target.first, Integer(target.last)]
Tiercel::Lab::Network::Relay.new(listener, target, control).run
