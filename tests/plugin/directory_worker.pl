# A worker in Perl for the directory of docs/examples/plain, with the lab's remote probe: no file of the lab is loaded.
use strict; use warnings; use IO::Socket::INET; use JSON::PP; use Time::HiRes 'sleep';

sub run_task {    # the value that the handler hands back; dies with the kind of the failure
    my ($payload, %options) = @_;
    my $lab = IO::Socket::INET->new($ENV{TASKLAB_OUTSIDE}) or die "transient\n";
    my $ask = sub { print $lab encode_json($_[0]), "\n"; $lab->flush; decode_json(scalar <$lab>) };
    my $answer = $ask->({op => 'begin', actor => $ENV{TASKLAB_ACTOR}, payload => $payload, %options});
    die $answer->{error} if $answer->{error};
    for my $step (@{$answer->{script}}) {
        if    ($step->{do} eq 'rest')   { sleep $step->{seconds} }
        elsif ($step->{do} eq 'send')   { $ask->($step->{request}) }
        elsif ($step->{do} eq 'die')    { kill 'KILL', $$; sleep 10 }
        elsif ($step->{do} eq 'fail')   { die "$step->{error}\n" }
        elsif ($step->{do} eq 'return') { return $step->{value} }
    }
}

while (1) {
    for my $file (sort glob "$ARGV[0]/*.todo") {
        open my $content, '<', $file or next;
        my $payload = decode_json(join '', <$content>);
        my ($key) = $file =~ m{([^/]+)\.todo$};
        eval { run_task($payload, key => $key); rename $file, $file =~ s/todo$/done/r; };
        rename $file, $file =~ s/todo$/dead/r if $@ eq "permanent\n";
    }
    sleep 0.02;
}
